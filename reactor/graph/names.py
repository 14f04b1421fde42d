"""The names by which people refer to resources: refs, aliases and globs over both."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

from reactor.graph.globs import covers
from reactor.resource.base import Resource
from reactor.suggestions import nearest

_NEIGHBOURS = 8


class Names:
    """The vertex for each ``kind#name`` and ``kind#alias``; a name takes precedence over an equal alias.

    If a manifest allows it, several resources may have one name: the refs of the later ones end with a number. A
    reference to such a name, or to an alias that several have, means the last of them before the referring resource.
    """

    def __init__(self, resources: Collection[Resource], refs: Sequence[str]) -> None:
        self._vertices: dict[str, int] = {ref: vertex for vertex, ref in enumerate(refs)}
        self._nearest: dict[str, list[str]] = {}
        self._called: dict[str, list[int]] = {}
        for vertex, resource in enumerate(resources):
            if resource.alias is not None:
                self._called.setdefault(f"{resource.kind}#{resource.alias}", []).append(vertex)
            if "(" in refs[vertex] and (name := f"{resource.kind}#{resource.name}") != refs[vertex]:
                self._called.setdefault(name, []).append(vertex)
        for name, vertices in self._called.items():
            vertices.append(self._vertices.setdefault(name, vertices[0]))
            vertices.sort()

    def find(self, name: str, owner: int | None = None) -> int | None:
        """The vertex that ``name`` means in a reference of ``owner``, or None."""
        if owner is not None and name in self._called:
            earlier = [vertex for vertex in self._called[name] if vertex < owner]
            return earlier[-1] if earlier else self._vertices.get(name)
        return self._vertices.get(name)

    def matching(self, pattern: str) -> Iterable[int]:
        """The vertices whose names match a glob pattern."""
        start = pattern.partition("*")[0]
        found = (
            vertex for name, vertex in self.items() if name.startswith(start) and covers(pattern, (name,))
        )
        return dict.fromkeys(found)

    def items(self) -> Iterable[tuple[str, int]]:
        """Every name with its vertex. A vertex with an alias appears twice."""
        return self._vertices.items()

    def hint(self, name: str, owner: int | None = None) -> str | None:
        """The hint when ``owner`` refers to a name that does not exist; None when no name is similar.

        Comparing with all of 10,000 names takes a second. But a misspelt name and the right one begin or end alike, so
        they are neighbours in the sorted list of the names, or of the reversed names. Only neighbours are compared.
        """
        if name not in self._nearest:
            forwards = _around(self._sorted, name)
            backwards = (word[::-1] for word in _around(self._sorted_backwards, name[::-1]))
            self._nearest[name] = _nearest(name, dict.fromkeys([*forwards, *backwards]))
        others = (ref for ref in self._nearest[name] if self._vertices[ref] != owner)
        return next((f"did you mean {ref!r}?" for ref in others), None)

    def kind_meant(self, glob: str) -> str | None:
        """The hint for a ``glob`` whose kind no resource has; None when no kind is similar."""
        kind, sign, rest = glob.partition("#")
        kinds = {name.partition("#")[0] for name in self._vertices}
        if not sign or kind in kinds:
            return None
        return next((f"did you mean '{near}#{rest}'?" for near in nearest(kind, kinds)), None)

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._vertices)

    @cached_property
    def _sorted_backwards(self) -> list[str]:
        return sorted(name[::-1] for name in self._vertices)


def _nearest(name: str, refs: Iterable[str]) -> list[str]:
    """The ``refs`` that ``name`` may mean, the most similar first.

    Two refs of one kind have much in common even if their names differ, so the names must be similar too. If the names
    are equal, only the kind is wrong.
    """
    wanted = name.partition("#")[2] or name
    called = {ref: ref.partition("#")[2] for ref in refs}
    same = [ref for ref, rest in called.items() if rest == wanted]
    alike = [ref for ref, rest in called.items() if rest != wanted and nearest(wanted, [rest])]
    return [*same, *nearest(name, alike)]


def _around(words: list[str], word: str) -> list[str]:
    here = bisect_left(words, word)
    return words[max(0, here - _NEIGHBOURS) : here + _NEIGHBOURS]


def parents(path: str) -> Iterator[str]:
    """The directories above an absolute path, the nearest first. Empty for an account."""
    while path.startswith("/") and path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path
