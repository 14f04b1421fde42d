"""Prints a sample of the mutants of some folders that could matter, a line of JSON each. It runs in cosmic-ray's environment.

`python mutants.py --sample N --seed S FOLDER...`, in the directory that has the folders. Left out is what changes nothing:
annotations, which are never evaluated, what stands under `if TYPE_CHECKING`, and what `equivalent` lists.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import random
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from equivalent import enumerations_below, is_equivalent

Span = tuple[tuple[int, int], tuple[int, int]]


class Place(NamedTuple):
    """Where an operator can be applied, as the ``occurrence``-th of it in the module."""

    module: Path
    operator: str
    occurrence: int
    span: Span


def main() -> None:
    """Print them in the order in which they were drawn, so that a larger sample begins with a smaller one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("folders", nargs="+", type=Path)
    asked = parser.parse_args()
    modules = sorted(module for folder in asked.folders for module in folder.rglob("*.py"))
    places = [place for module in modules for place in places_in(module)]
    random.Random(asked.seed).shuffle(places)
    for mutant in islice(filter(None, map(described, places)), asked.sample or None):
        print(json.dumps(mutant), flush=True)


def places_in(module: Path) -> Iterator[Place]:
    """Where something that matters can be changed."""
    nodes = list(ast_nodes(get_ast_from_path(module)))
    for name in operator_names():
        kind = get_operator(name)
        if kind.arguments():
            continue
        spans = (span for node in nodes for span in kind().mutation_positions(node))
        for occurrence, (begin, end) in enumerate(spans):
            if not is_idle(module, (tuple(begin), tuple(end))):
                yield Place(module, name, occurrence, (tuple(begin), tuple(end)))


def described(place: Place) -> dict[str, Any] | None:
    """The mutant, with the whole text of its module.

    None where that is no Python, as ``def f(a, / , b)`` for a ``*``, where it is `equivalent`, and where cosmic-ray fails, as
    for an exception with a dot in its name.
    """
    text = place.module.read_text()
    try:
        source = mutate_code(text, get_operator(place.operator)(), place.occurrence)
        if is_equivalent(text, source or "(", enumerations_below(Path())):
            return None
    except (AttributeError, SyntaxError):
        return None
    lines = list(difflib.unified_diff(text.splitlines(), (source or text).splitlines(), n=0, lineterm=""))[3:]
    (begin, column), (end, _) = place.span
    return {
        "key": f"{place.module}:{begin}:{column} {place.operator} {place.occurrence}",
        "module": str(place.module),
        "first": begin,
        "last": end,
        "was": "\n".join(line[1:].strip() for line in lines if line.startswith("-")),
        "became": "\n".join(line[1:].strip() for line in lines if line.startswith("+")),
        "source": source or text,
    }


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


def is_idle(module: Path, span: Span) -> bool:
    """Whether ``span`` is in one of the idle spans."""
    return any(first <= span[0] and span[1] <= last for first, last in idle_spans(module))


if __name__ == "__main__":
    main()
