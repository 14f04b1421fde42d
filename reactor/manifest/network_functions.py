"""The functions of expressions that read from a network: `registrations` and `kvGet`."""

from __future__ import annotations

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
        "registrations: no network is configured, so who is registered is not known",
        "give the list as data: --data-file FILE",
    ),
    "kvGet": _Function(
        ("bucket", "key"),
        "kvGet: no key-value store is configured",
        "give the value as data: --data KEY=VALUE",
    ),
}


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
    if len(arguments) != len(function.parameters) or not all(isinstance(each, str) for each in arguments):
        names = ", ".join(function.parameters)
        raise FunctionError(f"{name} requires {len(function.parameters)} string arguments: {names}")
    if network is None:
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
