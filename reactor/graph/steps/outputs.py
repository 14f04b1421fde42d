"""The step for values that go from one resource to another: who takes a value waits for who gives it."""

from __future__ import annotations

from reactor.errors import Place
from reactor.graph.graph import EdgeKind
from reactor.graph.graph_builder import Edge, GraphBuilder
from reactor.graph.steps.children import wait_for_missing_children
from reactor.resource.diagnostic import Diagnostic


def add_outputs(builder: GraphBuilder) -> None:
    """Add a ``require`` for each ``output("kind#name")``; report those that lead nowhere or back to where they stand."""
    for vertex, late in builder.late.items():
        for target, path in late.takes.items():
            found = builder.names.find(target, vertex)
            edge = Edge(EdgeKind.REQUIRE, f"output of {target} in {builder.refs[vertex]}", vertex, path)
            if found is not None and found != vertex:
                builder.connect(found, vertex, edge)
            elif found is not None or (
                builder.is_missed(target) and not wait_for_missing_children(builder, edge)
            ):
                place = builder.locate(vertex, path)
                builder.diagnostics.append(
                    _problem(builder, vertex, target, place, to_itself=found is not None)
                )


def _problem(
    builder: GraphBuilder, vertex: int, target: str, place: Place | None, *, to_itself: bool
) -> Diagnostic:
    ref = builder.refs[vertex]
    if to_itself:
        return Diagnostic("R0203", f"{ref} takes its own output", place, "take it from another resource")
    hint = builder.names.hint(target, vertex) or "declare it, or write the value out"
    return Diagnostic("R0202", f"an expression of {ref}: there is no {target} in the manifest", place, hint)
