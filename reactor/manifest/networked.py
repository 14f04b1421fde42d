"""Functions of expressions that ask services on the network. None is configured here, as by default in CCM."""

from __future__ import annotations

from typing import Any

from reactor.expression.errors import FunctionError


def registrations(*arguments: Any) -> list[Any]:
    """Who offers a service, by cluster, protocol, service and address: nobody, while nothing is published."""
    _expect("registrations", arguments, ("cluster", "protocol", "service", "address"))
    return []


def kv_get(*arguments: Any) -> str:
    """The value of a key in a store. Raises FunctionError: there is no store."""
    _expect("kvGet", arguments, ("bucket", "key"))
    raise FunctionError("kvGet: no key-value store is configured", "give the value as data: --data KEY=VALUE")


def _expect(function: str, arguments: tuple[Any, ...], names: tuple[str, ...]) -> None:
    if len(arguments) != len(names) or not all(isinstance(each, str) for each in arguments):
        raise FunctionError(f"{function} requires {len(names)} string arguments: {', '.join(names)}")
