"""The steps that turn ``require``, ``subscribe``, ``after`` and outputs in expressions into edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactor.errors import Place
from reactor.graph.globs import is_glob
from reactor.graph.graph import REFRESHING, EdgeKind
from reactor.graph.graph_builder import BuilderEdge, GraphBuilder
from reactor.resource.base import Resource
from reactor.resource.common_properties import Subscription
from reactor.resource.composite import Composite
from reactor.resource.diagnostic import Diagnostic

if TYPE_CHECKING:
    from reactor.resource.deferred_loop import DeferredLoop


def may_come_later(builder: GraphBuilder, edge: BuilderEdge, target: str) -> bool:
    """Whether ``target``, which is not in the graph, is no error: something that makes it may be loaded later.

    That is an `apply` whose manifest does not exist, or a loop whose elements are unknown: the owner of ``edge`` waits
    for these. When they are known, the manifest is loaded again: then the name is found, or is reported as missing. A
    resource that creates a manifest can't wait for a member of it.
    """
    comes = wait_for_loops(builder, edge, target)
    return not builder.is_missed(target) or _wait_for_missing_children(builder, edge) or comes


def wait_for_loops(builder: GraphBuilder, edge: BuilderEdge, target: str) -> bool:
    """Let the owner of ``edge`` wait for each loop that may make a ``target`` later; return whether there is any."""
    found = [vertex for vertex in builder.deferred_loops if _loop(builder, vertex).may_make(target)]
    for vertex in found:
        if vertex != edge.owner:
            reason = f"{edge.reason}, which may be in {builder.refs[vertex]}"
            kind = EdgeKind.AFTER if edge.kind is EdgeKind.AFTER else EdgeKind.REQUIRE
            builder.connect(vertex, edge.owner, BuilderEdge(kind, reason, edge.owner, edge.path))
    return bool(found)


def _loop(builder: GraphBuilder, vertex: int) -> DeferredLoop:
    from reactor.resource.deferred_loop import DeferredLoop  # noqa: PLC0415 - few manifests have such a loop

    resource = builder.resources[vertex]
    assert isinstance(resource, DeferredLoop)  # noqa: S101 - for mypy
    return resource


def add_deferred_loops(builder: GraphBuilder) -> None:
    """Let the resources that a loop over outputs makes wait for the loop. They stay in force if it fails later."""
    if not builder.deferred_loops:
        return
    number = {ref: vertex for vertex, ref in enumerate(builder.refs)}
    for loop in builder.deferred_loops:
        for ref in _loop(builder, loop).made:
            edge = BuilderEdge(EdgeKind.AFTER, f"{ref} is made by {builder.refs[loop]}", loop)
            builder.connect(loop, number[ref], edge)


def subscribe_loops(builder: GraphBuilder) -> None:
    """Let a loop of unknown elements hold the refreshes of the resources that it will make.

    What comes after the loop needs no such edge: the elements are known before it changes.
    """
    for loop in builder.deferred_loops:
        for target in () if _loop(builder, loop).is_known else builder.deferred[loop].subscriptions:
            found = builder.names.find(target, loop)
            several = builder.names.matching(target) if found is None and is_glob(target) else ()
            later = _after(builder, loop)
            for vertex in several if found is None else (found,):
                if vertex not in later:
                    reason = f"subscribe in {builder.refs[loop]}"
                    builder.connect(vertex, loop, BuilderEdge(EdgeKind.NOTIFY, reason, loop))


def _after(builder: GraphBuilder, vertex: int) -> set[int]:
    """``vertex``, and all that come after it."""
    found, left = {vertex}, [vertex]
    while left:
        new = builder.successors[left.pop()].keys() - found
        found |= new
        left.extend(new)
    return found


def _wait_for_missing_children(builder: GraphBuilder, edge: BuilderEdge) -> bool:
    kind = EdgeKind.AFTER if edge.kind is EdgeKind.AFTER else EdgeKind.REQUIRE
    made = {*builder.relations(edge.owner).provides} if builder.is_valid(edge.owner) else set()
    found = [
        vertex for vertex in builder.managed if vertex != edge.owner and _is_missing(builder, vertex, made)
    ]
    for vertex in found:
        reason = f"{edge.reason}, which may be in {builder.refs[vertex]}"
        builder.connect(vertex, edge.owner, BuilderEdge(kind, reason, edge.owner, edge.path))
    return bool(found)


def _is_missing(builder: GraphBuilder, vertex: int, made: set[str]) -> bool:
    resource = builder.resources[vertex]
    return isinstance(resource, Composite) and resource.is_missing and resource.manifest_path not in made


_PROPERTIES = {"require": EdgeKind.REQUIRE, "subscribe": EdgeKind.SUBSCRIBE, "after": EdgeKind.AFTER}


def add_references(builder: GraphBuilder) -> None:
    """Add an edge for each reference; report references to missing names and to the referring resource itself."""
    for vertex, resource in enumerate(builder.resources):
        for name, kind in _PROPERTIES.items():
            if not (targets := getattr(resource, name)):
                continue
            for position, target in enumerate(targets):
                reason = f"{name} in {builder.refs[vertex]}"
                edge = BuilderEdge(_meant(kind, resource), reason, vertex, (name, position))
                if isinstance(target, Subscription):
                    quiet = target.quiet if edge.kind in REFRESHING else None
                    _refer(builder, target.ref, edge._replace(quiet=quiet))
                else:
                    _refer(builder, target, edge)


def _meant(declared: EdgeKind, resource: Resource) -> EdgeKind:
    """The kind of edge for a reference of ``resource``. A refresh never changes a composite: only its members do."""
    if declared is not EdgeKind.SUBSCRIBE:
        return declared
    is_weak = resource.declared.form.is_ccm
    if resource.declared.members:
        return EdgeKind.AFTER if is_weak else EdgeKind.REQUIRE
    return EdgeKind.NOTIFY if is_weak else declared


def _refer(builder: GraphBuilder, target: str, edge: BuilderEdge) -> None:
    found = builder.names.find(target, edge.owner)
    if found is None and is_glob(target) and (several := builder.names.matching(target)):
        for vertex in several:
            if vertex != edge.owner:
                builder.connect(vertex, edge.owner, edge)
        wait_for_loops(builder, edge, target)
    elif found is not None and found != edge.owner:
        builder.connect(found, edge.owner, edge)
    elif found is not None or not may_come_later(builder, edge, target):
        builder.diagnostics.append(_problem(builder, target, edge, to_itself=found is not None))


def _problem(builder: GraphBuilder, target: str, edge: BuilderEdge, *, to_itself: bool) -> Diagnostic:
    ref, place = builder.refs[edge.owner], builder.locate(edge.owner, edge.path)
    if to_itself:
        return Diagnostic(
            "R0203", f"{ref} refers to itself in {edge.path[0]}", place, "remove this reference"
        )
    meant = builder.names.kind_meant(target) if is_glob(target) else None
    hint = meant or builder.names.hint(target, edge.owner) or "declare it, or remove this reference"
    return Diagnostic("R0202", f"{edge.path[0]} of {ref}: there is no {target} in the manifest", place, hint)


def add_outputs(builder: GraphBuilder) -> None:
    """Add a ``require`` for each ``output("kind#name")``; report missing names and references to itself."""
    for vertex, deferred in builder.deferred.items():
        for target, path in deferred.takes.items():
            found = builder.names.find(target, vertex)
            edge = BuilderEdge(
                EdgeKind.REQUIRE, f"output of {target} in {builder.refs[vertex]}", vertex, path
            )
            if found is not None and found != vertex:
                builder.connect(found, vertex, edge)
            elif found is not None or not may_come_later(builder, edge, target):
                place = builder.locate(vertex, path)
                builder.diagnostics.append(
                    _output_problem(builder, vertex, target, place, to_itself=found is not None)
                )


def _output_problem(
    builder: GraphBuilder, vertex: int, target: str, place: Place | None, *, to_itself: bool
) -> Diagnostic:
    ref = builder.refs[vertex]
    if to_itself:
        return Diagnostic("R0203", f"{ref} takes its own output", place, "take it from another resource")
    hint = builder.names.hint(target, vertex) or "declare it, or write the value out"
    return Diagnostic("R0202", f"an expression of {ref}: there is no {target} in the manifest", place, hint)
