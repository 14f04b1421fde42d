"""What the repositories offer, asked for many names in one call of the package manager."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Offer:
    """``newest`` is what the package manager would choose, ``versions`` all there is, in the repositories' spelling.

    None is chosen where the preferences of the administrator keep all of them back. Of a virtual package, there are only
    the names of those that provide it.
    """

    newest: str | None
    versions: tuple[str, ...]
    providers: tuple[str, ...] = ()


Ask = Callable[[Collection[str]], Awaitable[Mapping[str, Offer]]]


class Catalog:
    """Remembers offers until ``stamp`` gives another value. Not for two tasks at once."""

    def __init__(self, ask: Ask, stamp: Callable[[], Hashable]) -> None:
        self._ask = ask
        self._look = stamp
        self._stamp: Hashable = None
        self._wanted: set[str] = set()
        self._offers: Mapping[str, Offer] = {}
        self._known: set[str] = set()

    def want(self, name: str) -> None:
        """Include ``name`` in the next call, whoever causes it."""
        self._wanted.add(name)

    async def offers(self, names: Collection[str]) -> Mapping[str, Offer]:
        """What there is of ``names``, and maybe of others; what is in no repository is missing."""
        stamp = self._look()
        if stamp != self._stamp or not self._known.issuperset(names):
            wanted = self._wanted.union(names)
            self._offers = await self._ask(sorted(wanted))
            self._stamp, self._known = stamp, wanted
        return self._offers

    def forget(self) -> None:
        """Ask again next time."""
        self._stamp = None
