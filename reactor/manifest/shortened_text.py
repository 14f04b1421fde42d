"""Parses a long text without its plain items, and puts these into the tree.

The parser reads the first item of each run, and what comes after the run. So it is known that the run is in a list, and
that the parser would read its other items as the first one: an item leaves the parser as it was before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.plain_items import Run, runs_of
from reactor.manifest.source import Problems, Source
from reactor.resource.gc_control import free


def root_of(problems: Problems, parse: Callable[[Problems], Any]) -> Mapping | Sequence | None:
    """Return the root value of the source of ``problems``; None if all of it must be parsed.

    ``parse`` returns the root of another source, or None if it has anchors or problems.
    """
    text = problems.source.text
    runs = runs_of(text) or []
    root = None
    if 2 * sum(run.end - run.start for run in runs) > len(text):
        root = parse(Problems(Source(problems.source.file, _without(text, runs))))
    if not isinstance(root, (Mapping, Sequence)) or not _is_whole(root, runs):
        for run in runs:
            free(run.items)
        return None
    return root


def _without(text: str, runs: list[Run]) -> str:
    starts, ends = [run.start for run in runs], [run.end for run in runs]
    return "".join(text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True))


def _is_whole(root: Mapping | Sequence, runs: list[Run]) -> bool:
    """Put the ``runs`` into ``root``, and return whether all have their place there."""
    lengths = [0, *accumulate(run.end - run.start for run in runs)]
    cuts = [run.start - length for run, length in zip(runs, lengths, strict=False)]
    root.move(lambda at: at + lengths[bisect_right(cuts, at)])
    missing = {run.first_at: run for run in runs}
    _fill(root, missing)
    return not missing


def _fill(node: Mapping | Sequence, missing: dict[int, Run]) -> None:
    """Put those of the ``missing`` runs into ``node`` that belong there."""
    for value in node.values() if isinstance(node, Mapping) else node:
        if isinstance(value, (Mapping, Sequence)):
            _fill(value, missing)
    if isinstance(node, Sequence):
        offsets = [*map(node.value_at, range(len(node)))]
        found = {}
        for index, (at, next_at) in enumerate(pairwise(offsets)):
            run = missing.get(at)
            if run is not None and next_at == run.next_at and _is_same(node[index], run.first):
                found[index] = missing.pop(at)
        if found:
            node.insert_after({index: (run.items, run.offsets) for index, run in found.items()})


def _is_same(one: Any, other: Mapping) -> bool:
    return isinstance(one, Mapping) and one.is_like(other) and one.has_offsets_of(other)
