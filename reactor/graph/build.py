"""From resources to the graph, by named steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reactor.graph.draft import Chain, Draft, Locate
from reactor.graph.graph import Edge, Graph
from reactor.graph.steps.automatic import add_automatic_edges
from reactor.graph.steps.claims import report_contradictions
from reactor.graph.steps.cycles import report_cycles
from reactor.graph.steps.declined import release_declined
from reactor.graph.steps.members import add_members
from reactor.graph.steps.ordering import add_manifest_order
from reactor.graph.steps.outputs import add_outputs
from reactor.graph.steps.purging import spare_managed
from reactor.graph.steps.references import add_references
from reactor.resource.base import Resource
from reactor.resource.collector import collector_paused
from reactor.resource.diagnostic import Diagnostic

Step = Callable[[Draft], None]

STEPS: tuple[Step, ...] = (
    report_contradictions,
    spare_managed,
    add_references,
    add_outputs,
    add_manifest_order,
    add_members,
    report_cycles,
    add_automatic_edges,
    release_declined,
)
"""In this order. Cycles come before automatic edges, which never close one."""


def build(
    resources: Sequence[Resource],
    *,
    locate: Locate,
    chains: Sequence[Chain] = (),
    wrecks: Sequence[Resource] = (),
    broken: frozenset[str] = frozenset(),
    unread: bool = False,
) -> tuple[Graph, list[Diagnostic]]:
    """The graph of ``resources``, and every problem found in it.

    ``chains`` are the numbers of resources that go one after the other, as the manifest has them. With problems, the
    graph is not to be run: it may lack edges, or hold a cycle. ``locate`` finds a property in
    the manifest, and is asked only about problems; it counts ``wrecks``, of which only name and references are left,
    on after the resources. References to ``broken`` names, declared but unusable, are passed over; with a manifest ``unread``, so are
    all to what is not there. Raises ValueError when two resources have the same ref.
    """
    with collector_paused():
        everything = [*resources, *wrecks]
        draft = Draft(everything, locate, broken, unread=unread, sound=len(resources), chains=chains)
        for step in STEPS:
            step(draft)
        return finished(draft), draft.diagnostics


def finished(draft: Draft) -> Graph:
    """The graph that ``draft`` has come to. Raises ValueError when two resources have the same ref."""
    by_ref = dict(zip(draft.refs, draft.resources, strict=True))
    if len(by_ref) < len(draft.refs):
        raise ValueError("two resources have the same ref")
    refs = draft.refs
    edges = [
        Edge(first, refs[second], edge.kind, edge.reason, edge.quiet)
        for first, below in zip(refs, draft.successors, strict=True)
        for second, edge in below.items()
    ]
    return Graph(by_ref, edges)
