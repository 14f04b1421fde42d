"""Values that expressions read from a network, with `kvGet`, `registrations` and `shared`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from reactor.errors import ReactorError


class NetworkValue(NamedTuple):
    """The last known value of ``name``, such as ``kv://BUCKET/KEY``.

    ``value`` is None when it is not known, because of ``problem``. ``may_pass``: the problem may pass by itself.
    ``mirror`` is the file that has the value, and that changes with it; None when the value is kept in memory only.
    ``methods`` are those of a list, with what each gives.
    """

    name: str
    value: Any = None
    problem: ReactorError | None = None
    may_pass: bool = False
    mirror: str | None = None
    methods: Mapping[str, str] | None = None


class Network(Protocol):
    """Reads values from a network, and keeps the last ones. ``registers``: stable resources are registered there.

    ``functions`` are those that it has values for; calling another one is an error.
    """

    registers: bool
    functions: frozenset[str]

    def read(self, function: str, arguments: tuple[str, ...], *, briefly: bool) -> NetworkValue | None:
        """Return what a function gives: ``kvGet`` a string, ``registrations`` a list of maps, ``shared`` a map.

        May block; with ``briefly`` it never does, and returns None when it would have to.
        """

    def warnings(self) -> list[str]:
        """Return the warnings about values that are not current."""
