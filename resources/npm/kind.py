"""The kind `npm`: the command line of npm, and the packages in its directory."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from reactor import ResourceError, stop_if_cancelled
from reactor.resources.package_directory import PackageDirectory
from reactor.resources.package_spec import Spec, SpecSyntax
from reactor.resources.process import output_tail

_NAME = r"(?:@[a-z0-9~][a-z0-9-._~]*/)?[a-z0-9~][a-z0-9-._~]*"
_SYNTAX = SpecSyntax(
    re.compile(rf"(?P<name>{_NAME})(@(?P<version>latest|\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?))?"),
    "eslint, eslint@9.1.0 or eslint@latest",
)
_MODULES = "lib/node_modules"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LARGEST = 1 << 20
_UNKNOWN_AUTHORITY = re.compile(
    r"SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE"
    r"|self-signed certificate|unable to get local issuer certificate"
)
_KNOW_AUTHORITIES = (
    "npm does not use the authorities of the host: name them in the .npmrc of the user it runs as,"
    " cafile=/etc/ssl/certs/ca-certificates.crt"
)


class Npm(PackageDirectory, kind="npm"):
    """Keep packages of Node.js in a directory of their own, with their programs in `bin`."""

    example = "/opt/tools absent"
    program = "npm"
    syntax = _SYNTAX
    parts = frozenset(("bin", "etc", "include", "lib", "share"))
    listed_in = _MODULES
    _not_entered: ClassVar[frozenset[str]] = frozenset(("node_modules", "dist", "src", "test", "docs"))

    packages: tuple[Annotated[str, AfterValidator(_SYNTAX.check)], ...] = ()
    """The packages: `eslint`, `eslint@9.1.0`, `@vue/cli@latest`."""
    unwanted: tuple[Annotated[str, AfterValidator(_SYNTAX.check_name)], ...] = ()
    """Names of packages that must not be there."""

    def read_installed(self, directory: int) -> Mapping[str, tuple[str, ...]]:
        """The versions in the files package.json. Raises OSError."""
        try:
            modules = os.open(f"/proc/self/fd/{directory}/{_MODULES}", _DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        try:
            return {name: (version,) for name in _names_in(modules) if (version := _version(modules, name))}
        finally:
            os.close(modules)

    def install_commands(self, specs: Sequence[Spec]) -> Iterable[Sequence[str]]:
        """One call for all."""
        yield (
            "install",
            "--",
            *(f"{each.name}@{each.version}" if each.version else each.name for each in specs),
        )

    def uninstall_commands(self, names: Sequence[str]) -> Iterable[Sequence[str]]:
        """One call for all."""
        yield "uninstall", "--", *names

    async def versions_of(self, name: str) -> Sequence[str]:
        """The versions in the registry; the one with the tag `latest` comes first. Raises ResourceError."""
        done = await self.complete("view", "--json", "--", name, "dist-tags.latest", "versions")
        document = _object_in(done.stdout)
        error = document.get("error", {})
        if error.get("code") == "E404":
            return ()
        if done.exit_code != 0:
            reason = error.get("summary") or error.get("detail") or output_tail(done.stdout, done.stderr)
            hint = self.hint_for(done.stdout + done.stderr) or "check registry"
            raise ResourceError(f"npm can't ask the registry: {str(reason).strip()}", hint)
        versions = document.get("versions", [])
        listed = [versions] if isinstance(versions, str) else list(reversed(versions))
        latest = document.get("dist-tags.latest")
        return [latest, *(each for each in listed if each != latest)] if latest else listed

    def hint_for(self, output: str) -> str | None:
        """What to do where Node.js does not know the authority that signs for the registry, which the host may know."""
        return _KNOW_AUTHORITIES if _UNKNOWN_AUTHORITY.search(output) else None

    def settings(self) -> Mapping[str, str]:
        """The prefix, the registry, and no questions to others."""
        settings = {
            "npm_config_prefix": self.name,
            "npm_config_global": "true",
            "npm_config_audit": "false",
            "npm_config_fund": "false",
            "npm_config_update_notifier": "false",
            # by default it waits 70 s in all; the engine tries again by itself
            "npm_config_fetch_retries": "1",
            "npm_config_fetch_retry_mintimeout": "500",
            "npm_config_fetch_retry_maxtimeout": "500",
        }
        return settings if self.registry is None else {**settings, "npm_config_registry": self.registry}


def _object_in(output: str) -> dict[str, Any]:
    """The object of JSON that npm wrote; an empty one if there is none."""
    try:
        document = json.loads(output)
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {}


def _names_in(modules: int) -> Iterator[str]:
    for name in os.listdir(modules):
        stop_if_cancelled()
        if name.startswith("@"):
            try:
                scope = os.open(name, _DIRECTORY, dir_fd=modules)
            except OSError:
                continue
            try:
                yield from (f"{name}/{each}" for each in os.listdir(scope))
            finally:
                os.close(scope)
        elif not name.startswith("."):
            yield name


def _version(modules: int, name: str) -> str | None:
    """The version of a package; None if its package.json can't be read, as while it is installed."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(f"{name}/package.json", flags, dir_fd=modules), "rb") as file:
            version = json.loads(file.read(_LARGEST)).get("version")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return version if isinstance(version, str) else None
