"""Functions of expressions that ask services on the network. There is none yet: what can't be known is an error."""

from __future__ import annotations

from typing import Any, NoReturn

from reactor.language.errors import FunctionError


def registrations(*arguments: Any) -> NoReturn:
    """Who offers a service, by cluster, protocol, service and address. Raises FunctionError: nobody can be asked."""
    _expect("registrations", arguments, ("cluster", "protocol", "service", "address"))
    raise FunctionError(
        "registrations: no network is configured, so who is registered is not known",
        "give the list as data: --data-file FILE",
    )


def kv_get(*arguments: Any) -> NoReturn:
    """The value of a key in a store. Raises FunctionError: there is no store."""
    _expect("kvGet", arguments, ("bucket", "key"))
    raise FunctionError("kvGet: no key-value store is configured", "give the value as data: --data KEY=VALUE")


def _expect(function: str, arguments: tuple[Any, ...], names: tuple[str, ...]) -> None:
    if len(arguments) != len(names) or not all(isinstance(each, str) for each in arguments):
        raise FunctionError(f"{function} requires {len(names)} string arguments: {', '.join(names)}")
