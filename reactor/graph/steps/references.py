"""The step that turns ``require``, ``subscribe`` and ``after`` into edges."""

from __future__ import annotations

from reactor.graph.graph import REFRESHING, EdgeKind
from reactor.graph.graph_builder import Edge, GraphBuilder
from reactor.graph.steps.children import wait_for_missing_children
from reactor.resource.base import Resource
from reactor.resource.diagnostic import Diagnostic
from reactor.resource.subscription import Subscription

_PROPERTIES = {"require": EdgeKind.REQUIRE, "subscribe": EdgeKind.SUBSCRIBE, "after": EdgeKind.AFTER}


def add_references(builder: GraphBuilder) -> None:
    """Add an edge for each reference; report those that lead nowhere or back to where they stand."""
    for vertex, resource in enumerate(builder.resources):
        for name, kind in _PROPERTIES.items():
            for position, target in enumerate(getattr(resource, name)):
                reason = f"{name} in {builder.refs[vertex]}"
                edge = Edge(_meant(kind, resource), reason, vertex, (name, position))
                if isinstance(target, Subscription):
                    quiet = target.quiet if edge.kind in REFRESHING else None
                    _refer(builder, target.ref, edge._replace(quiet=quiet))
                else:
                    _refer(builder, target, edge)


def _meant(said: EdgeKind, resource: Resource) -> EdgeKind:
    """What a reference of ``resource`` comes to. What stands for others is changed by them, and by no refresh."""
    if said is not EdgeKind.SUBSCRIBE:
        return said
    is_weak = resource.declared.form.is_ccm
    if resource.declared.members:
        return EdgeKind.AFTER if is_weak else EdgeKind.REQUIRE
    return EdgeKind.NOTIFY if is_weak else said


def _refer(builder: GraphBuilder, target: str, edge: Edge) -> None:
    found = builder.names.find(target, edge.owner)
    if found is not None and found != edge.owner:
        builder.connect(found, edge.owner, edge)
    elif found is not None or (builder.is_missed(target) and not wait_for_missing_children(builder, edge)):
        builder.diagnostics.append(_problem(builder, target, edge, to_itself=found is not None))


def _problem(builder: GraphBuilder, target: str, edge: Edge, *, to_itself: bool) -> Diagnostic:
    ref, place = builder.refs[edge.owner], builder.locate(edge.owner, edge.path)
    if to_itself:
        return Diagnostic(
            "R0203", f"{ref} refers to itself in {edge.path[0]}", place, "take this reference away"
        )
    hint = builder.names.hint(target, edge.owner) or "declare it, or take this reference away"
    return Diagnostic("R0202", f"{edge.path[0]} of {ref}: there is no {target} in the manifest", place, hint)
