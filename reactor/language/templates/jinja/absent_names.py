"""What a Jinja template names and does not get, whatever the data are: filters, tests, functions and variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from jinja2 import Environment, nodes

_LOCAL: Final = frozenset(("caller", "kwargs", "loop", "self", "super", "varargs"))
"""The names that Jinja gives within loops, blocks and macros."""
_GUARDS: Final = ("defined", "undefined")
_DEFAULTS: Final = ("default", "d")


class Absent(NamedTuple):
    """A name that is not there: ``what`` is ``filter``, ``test``, ``function`` or ``variable``."""

    what: str
    name: str
    line: int
    column: int


def absent_filters(tree: nodes.Template, source: str, environment: Environment) -> list[Absent]:
    """Return the filters and tests that there are not, in their order; none if the template asks which there are."""
    tests = [*tree.find_all(nodes.Test)]
    if any(test.name in ("filter", "test") for test in tests):
        return []
    filters = [each for each in tree.find_all(nodes.Filter) if each.name not in environment.filters]
    found = [_absent("filter", each.name, each.lineno, source, r"\|\s*{}\b") for each in filters]
    found += [
        _absent("test", each.name, each.lineno, source, r"\bis\s+(?:not\s+)?{}\b")
        for each in tests
        if each.name not in environment.tests
    ]
    return sorted(set(found), key=lambda each: each[2:])


def absent_names(
    tree: nodes.Template, source: str, functions: Collection[str], variables: Collection[str] | None
) -> Iterator[Absent]:
    """Yield the functions, and unless ``variables`` is None the variables, that the template neither gets nor makes.

    What it asks for, or gives a default, may be missing.
    """
    made = _LOCAL | _made(tree) | _guarded(tree)
    called = {id(each.node) for each in tree.find_all(nodes.Call)}
    if next(tree.find_all(nodes.Extends), None) is not None:
        variables = None  # what it extends may make some
    seen: set[str] = set()
    for each in tree.find_all(nodes.Name):
        if each.ctx != "load" or each.name in made or each.name in functions or each.name in seen:
            continue
        is_call = id(each) in called
        if is_call or (variables is not None and each.name not in variables):
            seen.add(each.name)
            what = "function" if is_call else "variable"
            yield _absent(what, each.name, each.lineno, source, r"\b{}\b")


def _made(tree: nodes.Template) -> set[str]:
    """The names that the template gives to values, macros and other templates."""
    found = {each.name for each in tree.find_all(nodes.Name) if each.ctx in ("store", "param")}
    found |= {each.name for each in tree.find_all(nodes.Macro)}
    found |= {each.target for each in tree.find_all(nodes.Import)}
    for each in tree.find_all(nodes.FromImport):
        found |= {name if isinstance(name, str) else name[1] for name in each.names}
    return found


def _guarded(tree: nodes.Template) -> set[str]:
    """The names that may be missing, because the template asks whether they are there, or gives a default."""
    asked = [each.node for each in tree.find_all(nodes.Test) if each.name in _GUARDS]
    given = [each.node for each in tree.find_all(nodes.Filter) if each.name in _DEFAULTS and each.node]
    return {name.name for node in (*asked, *given) if node for name in _names_in(node)}


def _names_in(node: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node
    yield from node.find_all(nodes.Name)


def _absent(what: str, name: str, line: int, source: str, pattern: str) -> Absent:
    text = "".join(source.splitlines()[line - 1 : line])
    found = re.search(pattern.format(f"(?P<name>{re.escape(name)})"), text)
    return Absent(what, name, line, found.start("name") + 1 if found else 1)
