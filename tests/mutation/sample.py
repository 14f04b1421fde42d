"""Leave in a session of cosmic-ray a sample of the mutants that could matter. It runs in cosmic-ray's environment.

Left out is what changes nothing: annotations, which are never evaluated, and what stands under `if TYPE_CHECKING`.
"""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cosmic_ray.tools.filters.filter_app import FilterApp
from cosmic_ray.work_item import WorkerOutcome, WorkResult

Span = tuple[tuple[int, int], tuple[int, int]]


@cache
def idle_spans(module: Path) -> list[Span]:
    """Where a change of ``module`` changes nothing: (line, column) of both ends, lines from 1."""
    return [span_of(node) for node in idle_nodes(ast.parse(module.read_text()))]


def idle_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Annotations of all sorts, and blocks for the type checker."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(returns=found) | ast.AsyncFunctionDef(returns=found):
                yield from [found] if found else []
            case ast.AnnAssign(annotation=found):
                yield found
            case ast.arg(annotation=ast.AST() as found):
                yield found
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield node


def span_of(node: ast.AST) -> Span:
    """Where it begins and ends."""
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def is_idle(mutation) -> bool:
    """Whether the place of ``mutation`` is in one of the idle spans."""
    begin, end = tuple(mutation.start_pos), tuple(mutation.end_pos)
    return any(first <= begin and end <= last for first, last in idle_spans(mutation.module_path))


class Sample(FilterApp):
    """Mark as skipped all but a sample."""

    def description(self) -> str:
        """For the help."""
        return __doc__

    def add_args(self, parser) -> None:
        """How many, and by which seed."""
        parser.add_argument("--sample", type=int, required=True)
        parser.add_argument("--seed", type=int, required=True)

    def filter(self, work_db, args) -> None:
        """Choose them. A sample of 0 is all that could matter."""
        items = sorted(work_db.work_items, key=lambda item: str(item.mutations))
        matter = [item.job_id for item in items if not all(map(is_idle, item.mutations))]
        chosen = random.Random(args.seed).sample(matter, min(args.sample or len(matter), len(matter)))
        for item in items:
            if item.job_id not in chosen:
                work_db.set_result(item.job_id, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))


if __name__ == "__main__":
    sys.exit(Sample().main())
