"""Which resources of a run people mean, and the error when there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from reactor.errors import ReactorError
from reactor.graph.names import HOW_TO_WRITE, covers

if TYPE_CHECKING:
    from reactor.engine.vertex_table import VertexTable
    from reactor.resource.base import Resource


class UnknownNameError(ReactorError):
    """No resource is called like ``pattern``."""

    code = "R0605"

    def __init__(self, pattern: str, hint: str | None) -> None:
        super().__init__(f"no resource matches {pattern}", hint or HOW_TO_WRITE)


def names_of(resource: Resource) -> tuple[str, ...]:
    """What a resource is called: its ref, and its alias if it has one."""
    return (resource.ref,) if resource.alias is None else (resource.ref, f"{resource.kind}#{resource.alias}")


def meant_names(vertex_table: VertexTable) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The vertices, in order, with all names that mean each: its own, and those of what applies it, at any height."""
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


def matching(vertex_table: VertexTable, pattern: str) -> list[int]:
    """The vertices that ``pattern`` means, in order, with what those apply. Raises UnknownNameError when there are none."""
    found = [vertex for vertex, names in meant_names(vertex_table) if covers(pattern, names)]
    if not found:
        raise unknown(vertex_table, pattern)
    return found


def find(vertex_table: VertexTable, name: str) -> int:
    """The vertex called ``name``, which is a ref or an alias. Raises UnknownNameError."""
    with suppress(KeyError):
        if (vertex := vertex_table.number(name)) in vertex_table.present:
            return vertex
    for vertex in vertex_table.present:
        if name in names_of(vertex_table.resources[vertex]):
            return vertex
    raise unknown(vertex_table, name)


def unknown(vertex_table: VertexTable, pattern: str) -> UnknownNameError:
    """The error that no resource of a run is called like ``pattern``, with the nearest name as a hint."""
    present = sorted(vertex_table.present)
    refs, resources = [vertex_table.refs[v] for v in present], [vertex_table.resources[v] for v in present]
    return unknown_among(refs, pattern, resources)


def unknown_among(names: Sequence[str], pattern: str, resources: Sequence[Resource] = ()) -> UnknownNameError:
    """The same where ``names`` are all there are, beside those that the ``resources`` of these refs have."""
    from reactor.graph.names import Names  # noqa: PLC0415 - only a misspelt name needs it

    return UnknownNameError(pattern, Names(resources, names).hint(pattern))
