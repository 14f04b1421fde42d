"""The step for values that go from one resource to another: who takes a value waits for who gives it."""

from __future__ import annotations

from reactor.errors import Place
from reactor.graph.draft import Draft, Edge
from reactor.graph.graph import EdgeKind
from reactor.graph.steps.children import wait_for_missing_children
from reactor.resource.diagnostic import Diagnostic


def add_outputs(draft: Draft) -> None:
    """Add a ``require`` for each ``output("kind#name")``; report those that lead nowhere or back to where they stand."""
    for vertex, late in draft.late.items():
        for target, path in late.takes.items():
            found = draft.names.find(target, vertex)
            edge = Edge(EdgeKind.REQUIRE, f"output of {target} in {draft.refs[vertex]}", vertex, path)
            if found is not None and found != vertex:
                draft.connect(found, vertex, edge)
            elif found is not None or (
                draft.is_missed(target) and not wait_for_missing_children(draft, edge)
            ):
                place = draft.locate(vertex, path)
                draft.diagnostics.append(_problem(draft, vertex, target, place, to_itself=found is not None))


def _problem(draft: Draft, vertex: int, target: str, place: Place | None, *, to_itself: bool) -> Diagnostic:
    ref = draft.refs[vertex]
    if to_itself:
        return Diagnostic("R0203", f"{ref} takes its own output", place, "take it from another resource")
    hint = draft.names.hint(target, vertex) or "declare it, or write the value out"
    return Diagnostic("R0202", f"an expression of {ref}: there is no {target} in the manifest", place, hint)
