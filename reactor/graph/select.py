"""Selects a part of the graph: resources by name, and the resources that must come or go with them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from reactor.graph.globs import HOW_TO_WRITE, covers
from reactor.graph.graph import REFRESHING, Edge, EdgeKind, Graph
from reactor.graph.names import Names
from reactor.resource.deferred_loop import DeferredLoop
from reactor.resource.diagnostic import Diagnostic, ManifestError


class Implied(NamedTuple):
    """A resource that is selected, or left out, without being named: ``because`` is its neighbour on the path to a named one."""

    ref: str
    because: str


@dataclass(frozen=True)
class Selection:
    """The selected part of a graph.

    ``pulled_in`` is needed by what was asked for; ``left_out`` needs what was excluded.
    """

    graph: Graph
    pulled_in: list[Implied]
    left_out: list[Implied]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to warn of: a run of nothing ends well."""
        return () if self.graph.refs else ("--only and --exclude select no resource, so nothing is checked",)


def select(graph: Graph, only: Sequence[str], exclude: Sequence[str]) -> Selection:
    """The part of ``graph`` that matches ``only`` (empty: all of it) and not ``exclude``.

    Both contain globs over ``kind#name`` and ``kind#alias``, where ``*`` also matches ``/``. A match of ``only``
    includes everything it needs; a match of ``exclude`` excludes everything that needs it, and takes precedence over
    ``only``. Raises ManifestError with every glob that matches nothing.
    """
    names = Names(graph.resources.values(), graph.refs)
    wanted, unwanted = _matching(graph, names, only=only, exclude=exclude)
    asked = wanted if only else set(graph.refs)
    candidates = {*asked, *_needed(graph, asked)}
    lost = _spread(
        unwanted & candidates, lambda ref: (n for n in _tied(graph.dag.succ[ref]) if n in candidates)
    )
    asked -= {*unwanted, *lost}
    needed = _needed(graph, asked)
    return Selection(
        restricted(graph, {*asked, *needed}),
        pulled_in=[Implied(ref, needed[ref]) for ref in graph.refs if ref in needed],
        left_out=[Implied(ref, lost[ref]) for ref in graph.refs if ref in lost],
    )


def around(graph: Graph, name: str, depth: int) -> Graph:
    """The resource ``name`` (a ref or ``kind#alias``), and all at most ``depth`` edges away in both directions.

    Raises ManifestError when there is no such resource.
    """
    names = Names(graph.resources.values(), graph.refs)
    if (vertex := names.find(name)) is None:
        raise ManifestError(
            [Diagnostic("R0206", f"there is no {name} in the manifest", hint=names.hint(name))]
        )
    import networkx as nx  # noqa: PLC0415 - its import takes 0.1 s

    near = set(nx.ego_graph(graph.dag, graph.refs[vertex], radius=depth, undirected=True))
    return restricted(graph, near)


def matching(graph: Graph, globs: Sequence[str]) -> set[str]:
    """The refs that match one of ``globs``, as for `select`. Raises ManifestError with every glob that matches nothing."""
    names = Names(graph.resources.values(), graph.refs)
    [found] = _matching(graph, names, only=globs)
    return found


def restricted(graph: Graph, kept: set[str]) -> Graph:
    """The graph with only the refs in ``kept``, in the same order.

    If a path between two of them led through removed resources, an ``after`` edge keeps their order; a failure ends it
    if it ended the whole path. The refreshes of removed subscribers stay pending.
    """
    resources = {ref: resource for ref, resource in graph.resources.items() if ref in kept}
    edges = [edge for edge in graph.edges if edge.first in kept and edge.second in kept]
    near = {(edge.first, edge.second) for edge in edges}
    ending = Graph(graph.resources, [edge for edge in graph.edges if edge.ends])
    for first in resources:
        ended = set(_beyond(ending, first, kept))
        for second in _beyond(graph, first, kept):
            if (first, second) not in near:
                near.add((first, second))
                reason = "order through what is left out"
                edges.append(Edge(first, second, EdgeKind.AFTER, reason, ends=second in ended))
    left_out = defaultdict(list)
    for edge in graph.edges:
        if edge.kind in REFRESHING and edge.first in kept and edge.second not in kept:
            left_out[edge.first].append(edge.second)
    return Graph(resources, edges, left_out, graph.claimed)


def _beyond(graph: Graph, start: str, kept: set[str]) -> Iterator[str]:
    """The nearest kept vertices on all paths from ``start`` that begin with a vertex which is not kept."""
    stack = [ref for ref in graph.dag.succ[start] if ref not in kept]
    seen = set(stack)
    while stack:
        for ref in graph.dag.succ[stack.pop()]:
            if ref in seen:
                continue
            seen.add(ref)
            if ref in kept:
                yield ref
            else:
                stack.append(ref)


def _needed(graph: Graph, refs: set[str]) -> dict[str, str]:
    return _spread(refs, lambda ref: _tied(graph.dag.pred[ref]))


def _tied(neighbours: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """The neighbours that come or go with a resource.

    Includes ``notify`` edges, because members go with their composite.
    """
    return (ref for ref, attributes in neighbours.items() if attributes["kind"] is not EdgeKind.AFTER)


def _spread(start: set[str], neighbours: Callable[[str], Iterable[str]]) -> dict[str, str]:
    """The vertices reachable from ``start`` and not in it, each with the vertex from which it was reached."""
    reached: dict[str, str] = {}
    queue = deque(sorted(start))
    while queue:
        ref = queue.popleft()
        for neighbour in neighbours(ref):
            if neighbour not in reached and neighbour not in start:
                reached[neighbour] = ref
                queue.append(neighbour)
    return reached


def _matching(graph: Graph, names: Names, **globs: Sequence[str]) -> list[set[str]]:
    """For each option, the refs that match one of its globs."""
    found: list[set[str]] = []
    problems: list[Diagnostic] = []
    for option, patterns in globs.items():
        matches = [_matches(graph, names, pattern) for pattern in patterns]
        problems += [
            _no_match(names, option, p) for p, refs in zip(patterns, matches, strict=True) if not refs
        ]
        found.append(set().union(*matches))
    if problems:
        raise ManifestError(problems)
    return found


def _matches(graph: Graph, names: Names, pattern: str) -> set[str]:
    found = {graph.refs[vertex] for name, vertex in names.items() if covers(pattern, (name,))}
    loops = (each for each in graph.resources.values() if isinstance(each, DeferredLoop))
    return found.union(each.ref for each in loops if each.may_make(pattern))


def _no_match(names: Names, option: str, pattern: str) -> Diagnostic:
    if set(pattern) & set("*?["):
        meant = names.kind_meant(pattern)
        hint = f"{meant} Otherwise, {HOW_TO_WRITE}" if meant else HOW_TO_WRITE
    else:
        hint = names.hint(pattern) or HOW_TO_WRITE
    return Diagnostic("R0206", f"--{option} {pattern}: no resource matches", hint=hint)
