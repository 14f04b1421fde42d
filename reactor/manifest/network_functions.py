"""The functions of expressions that read from a network: `registrations`, `kvGet` and `shared`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from reactor.language.errors import BriefLimitError, FunctionError
from reactor.language.values import ListWithMethods
from reactor.manifest.evaluation import UnknownNetworkValueError
from reactor.resource.network_value import Network


class _Function(NamedTuple):
    parameters: tuple[str, ...]
    without_network: str
    hint: str


_FUNCTIONS = {
    "registrations": _Function(
        ("cluster", "protocol", "service", "address"),
        "registrations: no network is configured, so the registrations are not known",
        "give the list as data: --data-file FILE",
    ),
    "kvGet": _Function(
        ("bucket", "key"),
        "kvGet: no key-value store is configured",
        "give the value as data: --data KEY=VALUE",
    ),
    "shared": _Function(
        ("name", "where", "minimum"),
        "shared: this run belongs to no fleet, so the values of other hosts are not known",
        "run the manifest with `reactor fleet follow`",
    ),
}
_IN_A_FLEET = "the servers of a fleet give its hosts no buckets and no registrations"
_HINT_IN_A_FLEET = "put the value into the data of the bundle, or share it: shared(NAME)"
SHARED_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
"""The names of shared values."""
_LARGEST_MINIMUM = 1_000_000


def value_from_network(
    network: Network | None,
    name: str,
    arguments: tuple[Any, ...],
    note: Callable[[str], None],
    *,
    briefly: bool,
) -> Any:
    """Return what the function ``name`` gives. ``note`` gets the path of the mirror file.

    Raises FunctionError; BriefLimitError if it would block and ``briefly`` is set; UnknownNetworkValueError for a value
    that may be known later.
    """
    function = _FUNCTIONS[name]
    if name == "shared":
        arguments = _arguments_of_shared(*arguments)
    if len(arguments) != len(function.parameters) or not all(isinstance(each, str) for each in arguments):
        names = ", ".join(function.parameters)
        raise FunctionError(f"{name} requires {len(function.parameters)} string arguments: {names}")
    if network is None or name not in network.functions:
        if network is not None and "shared" in network.functions:
            raise FunctionError(f"{name}: {_IN_A_FLEET}", _HINT_IN_A_FLEET)
        raise FunctionError(function.without_network, function.hint)
    found = network.read(name, arguments, briefly=briefly)
    if found is None:
        raise BriefLimitError
    if found.mirror is not None:
        note(found.mirror)
    if found.value is None:
        problem = found.problem
        message, hint = ("it is not known", None) if problem is None else (problem.message, problem.hint)
        if found.may_pass:
            raise UnknownNetworkValueError(found.name, message, hint)
        raise FunctionError(f"{name}: {message}", hint)
    return found.value if found.methods is None else ListWithMethods(found.value, found.methods)


def _arguments_of_shared(name: Any = None, where: Any = "", minimum: Any = 0, *more: Any) -> tuple[str, ...]:
    """Return the arguments of `shared` as strings, with their defaults. Raises FunctionError."""
    if more or not isinstance(name, str) or not isinstance(where, str) or type(minimum) is not int:
        raise FunctionError(
            "shared requires a name, and may have the hosts and how many must be known",
            "write it as in: shared('pg_primary', 'group:eu', 2)",
        )
    if not SHARED_NAME.fullmatch(name):
        raise FunctionError(
            f"shared: {name[:80]!r} is not a name for a shared value",
            "use a-z, A-Z, 0-9, - and _, at most 63",
        )
    if where and not (where.startswith("group:") and where != "group:"):
        raise FunctionError(
            f"shared: {where[:80]!r} chooses no hosts", "write 'group:NAME', or '' for all hosts"
        )
    if not 0 <= minimum <= _LARGEST_MINIMUM:
        raise FunctionError(f"shared: the minimum can't be {minimum}", "give a number of hosts, such as 2")
    return name, where, str(minimum)
