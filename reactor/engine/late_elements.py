"""What a loop over outputs makes, once its elements are known for the first time in this process."""

from __future__ import annotations

from collections.abc import Collection

from reactor.engine.vertex_table import TableChange, VertexTable
from reactor.resource.base import Resource

LOOP = "for_each"
"""The kind of `reactor.resource.deferred_loop.DeferredLoop`, which is imported only where there is one."""


def made_by(loop: Resource) -> Collection[str]:
    """The refs of the resources that ``loop``, of the kind `LOOP`, makes; none while they are unknown."""
    from reactor.resource.deferred_loop import DeferredLoop  # noqa: PLC0415 - few manifests have such a loop

    return loop.made if isinstance(loop, DeferredLoop) else ()


def first_elements(vertex_table: VertexTable, change: TableChange) -> Collection[str]:
    """The refs that loops make in the graph of ``change``, and about which the graph in force knows nothing yet.

    Earlier runs may have had them: they are not new in the manifest.
    """
    loops = [vertex_table.resources[vertex] for vertex in change.difference.changed]
    unknown = [each.ref for each in loops if each.kind == LOOP and not made_by(each)]
    return {ref for loop in unknown for ref in made_by(change.graph.resources[loop])}
