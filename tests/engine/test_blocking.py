"""Who is blocked is what the definition says, whoever fails, runs and recovers meanwhile."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from reactor.engine.blocking import Blocking
from reactor.graph.graph import WEAK, EdgeKind
from reactor.graph.topology import Topology

MOST = 5
PAIRS = [(a, b) for a in range(MOST) for b in range(a + 1, MOST)]
KINDS = (EdgeKind.REQUIRE, EdgeKind.AFTER)


class Host:
    """Checks begin and end in any order, but none that is blocked begins."""

    def __init__(self, edges, ends):
        self.strong = [pair for pair, kind in edges.items() if kind not in WEAK]
        self.ends = ends
        topology = Topology.of_edges(MOST, [(a, b, kind) for (a, b), kind in edges.items()])
        topology.end_orders(sorted(ends))
        self.blocking = Blocking(topology)
        self.runs = bytearray(MOST)

    def step(self, vertex, fails):
        if self.runs[vertex]:
            self.runs[vertex] = False
            self.end(vertex, fails)
        elif vertex not in self.blocking.blocked:
            self.runs[vertex] = True

    def end(self, vertex, fails):
        if fails:
            self.blocking.fail(vertex, self.runs)
        elif vertex in self.blocking.failed:
            self.blocking.recover(vertex, lambda freed: None)
        if self.blocking.is_blocked(vertex):
            self.blocking.block(vertex, self.runs)

    def expected(self):
        """For whom an order is over, and who is blocked, counted from the beginning."""
        failed, over, blocked = self.blocking.failed, set(), set()
        for v in range(MOST):
            if any(b == v and a in failed | over for a, b in self.ends):
                over.add(v)
            is_hindered = any(b == v and a in failed | blocked for a, b in self.strong)
            if (v in over or is_hindered) and not self.runs[v]:
                blocked.add(v)
        return over, blocked


@given(st.integers(0, 2**32))
@settings(max_examples=200)
def test_only_a_failure_ends_an_order_and_all_that_is_bad_blocks(seed):
    chance = random.Random(seed)  # hypothesis alone picks too few edges and steps to be a trial
    edges = {pair: chance.choice(KINDS) for pair in PAIRS if chance.random() < 0.5}
    host = Host(edges, {pair for pair in edges if chance.random() < 0.5})
    for _ in range(60):
        host.step(chance.randrange(MOST), fails=chance.random() < 0.4)
        over, blocked = host.expected()
        assert {v for v in range(MOST) if host.blocking.is_order_ended(v)} == over
        assert host.blocking.blocked == blocked
        assert all(host.blocking.culprits(v, {}) for v in blocked)
