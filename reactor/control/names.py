"""Finds the resources that a name or a glob matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from reactor.errors import ReactorError
from reactor.graph.globs import HOW_TO_WRITE, covers

if TYPE_CHECKING:
    from reactor.engine.vertex_table import VertexTable
    from reactor.resource.base import Resource

_WILDCARDS = re.compile(r"[*?[]")


class UnknownNameError(ReactorError):
    """No resource matches ``pattern``."""

    code = "R0605"

    def __init__(self, pattern: str, hint: str | None) -> None:
        super().__init__(f"no resource matches {pattern}", hint or HOW_TO_WRITE)


def names_of(resource: Resource) -> tuple[str, ...]:
    """The names of a resource: its ref, and its alias if it has one."""
    return (resource.ref,) if resource.alias is None else (resource.ref, f"{resource.kind}#{resource.alias}")


def names_by_vertex(vertex_table: VertexTable) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The vertices in order, each with its own names and the names of all composites that contain it."""
    above: dict[str, list[Resource]] = {}
    for vertex in vertex_table.present:
        resource = vertex_table.resources[vertex]
        for member in resource.declared.members:
            above.setdefault(member, []).append(resource)
    for vertex in sorted(vertex_table.present):
        resource = vertex_table.resources[vertex]
        if not above:
            yield vertex, names_of(resource)
            continue
        found, waiting = dict.fromkeys(names_of(resource)), [*above.get(resource.ref, ())]
        while waiting:
            composite = waiting.pop()
            found.update(dict.fromkeys(names_of(composite)))
            waiting += above.get(composite.ref, ())
        yield vertex, tuple(found)


class NamesInForce:
    """The names of the present vertices, to find what many patterns match: only a glob is compared with all names."""

    def __init__(self, vertex_table: VertexTable) -> None:
        self._vertex_table = vertex_table
        self._vertices: dict[str, list[int]] = {}
        for vertex, names in names_by_vertex(vertex_table):
            for name in names:
                self._vertices.setdefault(name, []).append(vertex)

    def matching(self, pattern: str) -> list[int]:
        """The matching vertices in order, with the members of matching composites; empty for none."""
        if not _WILDCARDS.search(pattern):
            return self._vertices.get(pattern, [])
        return sorted(
            {v for name, found in self._vertices.items() if covers(pattern, (name,)) for v in found}
        )

    def require(self, patterns: Iterable[str]) -> list[int]:
        """The vertices that match any of ``patterns``. Raises UnknownNameError if one matches none."""
        found: dict[int, None] = {}
        for pattern in patterns:
            if not (vertices := self.matching(pattern)):
                raise unknown(self._vertex_table, pattern)
            found.update(dict.fromkeys(vertices))
        return [*found]


def find(vertex_table: VertexTable, name: str) -> int:
    """The vertex with the ref or alias ``name``. Raises UnknownNameError."""
    with suppress(KeyError):
        if (vertex := vertex_table.number(name)) in vertex_table.present:
            return vertex
    for vertex in vertex_table.present:
        if name in names_of(vertex_table.resources[vertex]):
            return vertex
    raise unknown(vertex_table, name)


def unknown(vertex_table: VertexTable, pattern: str) -> UnknownNameError:
    """The error for a ``pattern`` that matches no resource of the run, with the nearest name as a hint."""
    present = sorted(vertex_table.present)
    refs, resources = [vertex_table.refs[v] for v in present], [vertex_table.resources[v] for v in present]
    return unknown_name(refs, pattern, resources)


def unknown_name(names: Sequence[str], pattern: str, resources: Sequence[Resource] = ()) -> UnknownNameError:
    """The same error for ``names`` and the aliases of ``resources`` instead of the resources of a run."""
    from reactor.graph.names import Names  # noqa: PLC0415 - only a misspelt name needs it

    return UnknownNameError(pattern, Names(resources, names).hint(pattern))
