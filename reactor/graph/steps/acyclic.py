"""Which of many wanted edges can join a DAG without closing a cycle."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from reactor.graph.digraph import Successors, tangled, topological_order

Pair = tuple[int, int]

_BATCH = 4096
"""Bits in one pass: half a kilobyte for each vertex."""


def without_cycles(successors: Successors, wanted: Collection[Pair]) -> list[Pair]:
    """As many of ``wanted`` as the DAG of ``successors`` can take, the same for the same input.

    Nearly always all of them: one pass over the whole shows which could be on a cycle at all. Of those, the ones
    that agree with the order so far (given edges first, then the order of the manifest) are taken, then the
    others one by one where no cycle comes of it; none of them when the graph holds a cycle already.
    """
    if not wanted:
        return []
    everything = [list(seconds) for seconds in successors]
    for first, second in wanted:
        if second not in successors[first]:
            everything[first].append(second)
    contested = tangled(everything)
    kept = [pair for pair in wanted if not (pair[0] in contested and pair[1] in contested)]
    if contested:
        disputed = [pair for pair in wanted if pair[0] in contested and pair[1] in contested]
        kept += _settled(successors, disputed)
    return kept


def _settled(successors: Successors, disputed: Iterable[Pair]) -> list[Pair]:
    order = topological_order(successors)
    if len(order) < len(successors):
        return []
    position = {vertex: place for place, vertex in enumerate(order)}
    kept = [pair for pair in disputed if position[pair[0]] < position[pair[1]]]
    against = [pair for pair in disputed if position[pair[0]] > position[pair[1]]]
    joined = [list(seconds) for seconds in successors]
    for first, second in kept:
        joined[first].append(second)
    for first, second in _not_closing(joined, order, against):
        if not _reaches(joined, second, first):
            joined[first].append(second)
            kept.append((first, second))
    return kept


def _not_closing(successors: Successors, order: list[int], pairs: list[Pair]) -> list[Pair]:
    """The pairs that close no cycle, each taken for itself, found for thousands of them in one pass.

    One bit stands for each first vertex; every vertex gets the bits of all it leads to.
    """
    firsts = sorted({first for first, _ in pairs})
    harmless: set[Pair] = set()
    for start in range(0, len(firsts), _BATCH):
        bits = {first: 1 << bit for bit, first in enumerate(firsts[start : start + _BATCH])}
        leads_to = [0] * len(successors)
        for vertex in reversed(order):
            reached = bits.get(vertex, 0)
            for second in successors[vertex]:
                reached |= leads_to[second]
            leads_to[vertex] = reached
        harmless.update(pair for pair in pairs if pair[0] in bits and not leads_to[pair[1]] & bits[pair[0]])
    return [pair for pair in pairs if pair in harmless]


def _reaches(successors: Successors, start: int, goal: int) -> bool:
    seen = {start}
    stack = [start]
    while stack:
        for second in successors[stack.pop()]:
            if second == goal:
                return True
            if second not in seen:
                seen.add(second)
                stack.append(second)
    return False
