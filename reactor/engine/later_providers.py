"""In a dry run, finds the change that would provide what a failed vertex misses, though it need not come before it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from reactor.resource.base import Resource


class _Able(NamedTuple):
    """The vertices that may provide one missing thing, in order. ``concerned`` provide it, or a path above or below."""

    all: frozenset[int]
    concerned: Sequence[int]
    likely: Sequence[int]


class LaterProviders:
    """Knows which of the ``unapplied`` vertices may provide what. Many vertices may miss the same: it is found once."""

    def __init__(
        self, unapplied: Iterable[int], resources: Mapping[int, Resource] | Sequence[Resource]
    ) -> None:
        self._unapplied = sorted(unapplied)
        self._resources = resources
        self._able: dict[str, _Able] = {}
        self._by_path: dict[str, list[int]] = {}
        for vertex in self._unapplied:
            for path in resources[vertex].relations().provides:
                self._by_path.setdefault(path, []).append(vertex)

    def find(self, vertex: int, missing: str, relied_on: Collection[str]) -> int | None:
        """The most likely provider of ``missing`` for ``vertex``, which depends on the paths ``relied_on``, or None."""
        if missing not in self._able:
            self._able[missing] = self._find_able(missing)
        able = self._able[missing]
        relied = (up for path in relied_on for up in self._by_path.get(path, ()) if up in able.all)
        certain = min((up for up in (*able.concerned[:2], *relied) if up != vertex), default=None)
        return next((up for up in able.likely[:2] if up != vertex), None) if certain is None else certain

    def _find_able(self, missing: str) -> _Able:
        able = [up for up in self._unapplied if self._resources[up].might_provide(missing)]
        concerned = [up for up in able if concerns(self._resources[up], missing)]
        likely = [up for up in able if self._is_likely(self._resources[up], missing)]
        return _Able(frozenset(able), concerned, likely)

    def _is_likely(self, other: Resource, missing: str) -> bool:
        return other.provides_more and not missing.startswith(f"{other.kind}#")


def concerns(resource: Resource, missing: str) -> bool:
    """Whether ``resource`` provides the path ``missing``, or a path above or below it."""
    return any(
        f"{each}/".startswith(f"{missing}/") or f"{missing}/".startswith(f"{each}/")
        for each in resource.relations().provides
    )
