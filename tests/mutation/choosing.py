"""Which tests can notice a mutant: those that executed the line, the quickest first."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple

from recording import Recording

MOST_SECONDS = 30.0
"""What the tests of one mutant may take together, as recorded: the quickest of them fill it."""

WORLDS = ("tests/hostkinds/", "tests/systemd/")
"""The tests of these directories run last: a second pytest runs them, which takes longer to begin than most tests."""


class Choice(NamedTuple):
    """The tests to run, in this order, the seconds they took when they were recorded, and how many there were to choose from."""

    tests: list[str]
    seconds: float
    of: int


def choose(recording: Recording, module: str, texts: Mapping[str, str], first: int, last: int) -> Choice:
    """The tests for a change of the lines ``first`` to ``last`` of the ``module``.

    ``texts`` has all modules that may be mutated. A module of nothing but constants is tested by the tests of those that
    import it.
    """
    tree = ast.parse(texts[module])
    if not _lines_in_functions(tree):
        importers = [other for other, text in texts.items() if _imports(ast.parse(text), module)]
        whole = ((other, _lines_in_functions(ast.parse(texts[other]))) for other in importers)
        return _quickest(
            recording, {test for other, lines in whole for test in _tests(recording, other, lines)}
        )
    return _quickest(recording, _tests(recording, module, telling_lines(tree, first, last)))


def _tests(recording: Recording, module: str, lines: set[int]) -> set[str]:
    executed = recording.lines.get(module, {})
    return {test for line in lines for test in executed.get(line, ())}


def _imports(tree: ast.Module, module: str) -> bool:
    """Whether the module imports something from ``module``, a path, by whatever package it is in."""
    name = PurePath(module).with_suffix("").as_posix().replace("/", ".")
    found = (node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return any(each == name or each.endswith(f".{name}") for each in found)


def _quickest(recording: Recording, found: set[str]) -> Choice:
    chosen: list[str] = []
    seconds = 0.0
    for test in sorted(found, key=lambda test: (recording.seconds[test], test)):
        if chosen and seconds + recording.seconds[test] > MOST_SECONDS:
            break
        chosen.append(test)
        seconds += recording.seconds[test]
    chosen.sort(key=lambda test: test.startswith(WORLDS))
    return Choice(chosen, seconds, len(found))


def telling_lines(tree: ast.Module, first: int, last: int) -> set[int]:
    """The lines whose execution tells that a test depends on those from ``first`` to ``last``.

    In the body of a function, these are the lines of the statement, without those of its own blocks. What is executed when
    the module is imported is executed for all tests: there, the lines of all functions below count, or of the module.
    """
    around = _around(tree, first, last)
    function = next((node for node in reversed(around) if _is_in_body(node, first)), None)
    if function is not None:
        return set(_header(around[-1]))
    if isinstance(around[-1], ast.FunctionDef | ast.AsyncFunctionDef):
        return _lines_in_functions(around[-1])
    return _lines_in_functions(tree)


def _around(tree: ast.Module, first: int, last: int) -> list[ast.stmt]:
    """The statements that hold these lines, the outermost first."""
    found = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and _begin(node) <= first and last <= (node.end_lineno or 0)
    ]  # fmt: skip
    return sorted(found, key=lambda node: (_begin(node), -(node.end_lineno or 0)))


def _is_in_body(node: ast.AST, line: int) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and line >= node.body[0].lineno


def _begin(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _header(node: ast.stmt) -> range:
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    inner = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
    return range(node.lineno, max(inner, node.lineno + 1))


def _lines_in_functions(tree: ast.AST) -> set[int]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {line for node in functions for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)}
