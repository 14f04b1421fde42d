"""The private names of libraries that our code uses, and the modules of libraries that are public.

A private name may move in any release, so each of these libraries has an upper bound in pyproject.toml, below the next
series of releases. A module that is on neither list is a question to whoever imports it.
"""

from importlib import import_module
from importlib.metadata import version
from typing import NamedTuple


class PrivateUse(NamedTuple):
    """Names of one module of a library that its documentation does not promise."""

    distribution: str
    module: str
    names: tuple[str, ...]
    """Dotted where a class has them."""
    used_in: str


PRIVATE = [
    PrivateUse(
        "watchdog",
        "watchdog.observers.inotify_c",
        (
            "CallbackId",
            "InotifyEvent",
            "InotifyFD._remove_watch",
            "InotifyFD.add_callback",
            "InotifyFD.close",
            "InotifyFD.remove_callbacks",
            "WatchDescriptor",
        ),
        "watchers/inotify_descriptor.py",
    ),
    PrivateUse(
        "watchdog",
        "watchdog.observers.inotify_c",
        ("InotifyConstants.IN_Q_OVERFLOW", "Mask"),
        "watchers/inotify_masks.py",
    ),
    *(
        PrivateUse(distribution, f"{package}.{module}", names, "watchers/dbus/transport.py")
        for distribution, package in (("dbus-next", "dbus_next"), ("dbus-fast", "dbus_fast"))
        for module, names in (
            ("auth", ("AuthExternal._authentication_start", "AuthExternal._receive_line")),
            ("errors", ("AuthError",)),
        )
    ),
    PrivateUse(
        "pyroute2",
        "pyroute2.netlink.rtnl.marshal",
        ("MarshalRtnl.msg_map",),
        "resources/network/rtnetlink.py",
    ),
    PrivateUse(
        "jinja2",
        "jinja2.compiler",
        (
            "CodeGenerator.visit_Compare",
            "CodeGenerator.visit_Concat",
            "CodeGenerator.visit_For",
            "CodeGenerator.write",
            "Frame",
            "operators",
        ),
        "reactor/language/templates/jinja/environment.py",
    ),
    PrivateUse(
        "jinja2",
        "jinja2.runtime",
        ("BlockReference", "Context", "LoopContext", "Macro", "TemplateReference"),
        "reactor/language/templates/jinja/environment.py",
    ),
    PrivateUse("jinja2", "jinja2.filters", ("FILTERS",), "reactor/language/templates/jinja/filters.py"),
    PrivateUse(
        "jinja2", "jinja2.environment", ("TemplateModule",), "reactor/language/templates/jinja/environment.py"
    ),
    PrivateUse(
        "jinja2",
        "jinja2.utils",
        ("Cycler", "Joiner", "Namespace"),
        "reactor/language/templates/jinja/environment.py",
    ),
    PrivateUse(
        "prometheus-client", "prometheus_client.utils", ("floatToGoString",), "reactor/metrics/page.py"
    ),
    PrivateUse(
        "pyyaml", "yaml.reader", ("Reader.NON_PRINTABLE", "ReaderError"), "reactor/manifest/syntax_errors.py"
    ),
    PrivateUse(
        "pyyaml", "yaml.constructor", ("ConstructorError", "SafeConstructor"), "resources/parts/yaml_text.py"
    ),
]

PUBLIC_MODULES = frozenset(
    {
        "click", "click.shell_completion",
        "cryptography", "cryptography.exceptions", "cryptography.hazmat.primitives", "cryptography.hazmat.primitives.asymmetric",
        "cryptography.hazmat.primitives.asymmetric.ec", "cryptography.hazmat.primitives.asymmetric.ed25519",
        "cryptography.hazmat.primitives.asymmetric.padding", "cryptography.hazmat.primitives.asymmetric.rsa",
        "cryptography.hazmat.primitives.asymmetric.types", "cryptography.hazmat.primitives.asymmetric.utils",
        "cryptography.hazmat.primitives.asymmetric.x25519", "cryptography.hazmat.primitives.ciphers.aead",
        "cryptography.hazmat.primitives.kdf.hkdf", "cryptography.hazmat.primitives.serialization",
        "cryptography.hazmat.primitives.ciphers", "cryptography.hazmat.primitives.kdf.scrypt", "cryptography.x509",
        "cryptography.x509.oid",
        "dns.asyncresolver", "dns.exception", "dns.resolver", "dns.reversename",
        "h11",
        "httpcore",
        "httpx",
        "jinja2", "jinja2.sandbox",
        "lsprotocol",
        "networkx",
        "outcome",
        "packaging.requirements", "packaging.utils", "packaging.version",
        "prometheus_client.core", "prometheus_client.exposition", "prometheus_client.process_collector",
        "prometheus_client.registry",
        "pygls.exceptions", "pygls.lsp.server", "pygls.protocol", "pygls.uris",
        "pydantic", "pydantic.fields", "pydantic.json_schema", "pydantic_core",
        "pyrage",
        "re2",
        "rich", "rich.console", "rich.progress", "rich.table", "rich.text",
        "starlette.applications", "starlette.datastructures", "starlette.exceptions", "starlette.requests",
        "starlette.responses", "starlette.routing", "starlette.types",
        "trio",
        "typing_extensions",
        "yaml", "yaml.events", "yaml.nodes", "yaml.tokens",
        "zstandard",
    }
)  # fmt: skip
"""Modules that the documentation of their library names."""


def advice(distribution: str, what: str, used_in: str) -> str:
    """What a developer reads when a private name is not what it was."""
    return (
        f"{distribution} {version(distribution)}: {what}.\n"
        f"It is private to {distribution}, and {used_in} uses it. Adapt {used_in} to this version; or put the upper "
        f"bound of {distribution} in pyproject.toml back below it, and run scripts/lock and scripts/setup dev."
    )


def moved(use: PrivateUse) -> str | None:
    """What to tell of the first name that is not there, or None."""
    try:
        module = import_module(use.module)
    except ImportError as error:
        return advice(use.distribution, f"{use.module} can't be imported ({error})", use.used_in)
    for name in use.names:
        found = module
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is None:
            return advice(use.distribution, f"{use.module} has no {name}", use.used_in)
    return None
