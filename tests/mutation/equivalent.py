"""Finds mutants that can't change what the program does, whatever the tests: they are not tried.

Each of them differs from the module in one expression, in one of these ways:

- ``==`` for ``is`` or ``!=`` for ``is not``, with None, a class or a member of an enumeration: these are equal only to
  themselves.
- An expression of constants of the standard library that keeps its value, such as ``os.O_RDONLY ^ os.O_CLOEXEC``.
- A slash for the star in the parameters of a function: mypy checks how it is called.
- ``repr`` or ``slots`` of a dataclass: how a debugger shows the object, and how much memory it takes.
"""

from __future__ import annotations

import ast
import os
import re
import socket
import stat
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path

_MODULES = {"os": os, "socket": socket, "stat": stat}
_ENUMERATION = re.compile(r"^class (\w+)\((?:Str|Int)?(?:Enum|Flag)\)", re.MULTILINE)
_CONSTANT_NODES = (
    ast.BinOp, ast.operator, ast.Attribute, ast.Name, ast.Constant, ast.Load, ast.UnaryOp, ast.unaryop,
)  # fmt: skip


def is_equivalent(text: str, mutant: str, enumerations: frozenset[str]) -> bool:
    """Whether the module ``text`` does the same as ``mutant`` for one of these reasons."""
    tree = ast.parse(text)
    members = _members(tree, enumerations)
    around = list(_around_the_difference(tree, ast.parse(mutant)))
    return any(
        _is_same_comparison(before, after, members)
        or _is_same_value(before, after)
        or _has_same_parameters(before, after)
        or _differs_in_memory_only(before, after)
        for before, after in around
    )


@cache
def enumerations_below(top: Path) -> frozenset[str]:
    """The names of the enumerations of the project at ``top``."""
    texts = (
        module.read_text()
        for folder in ("reactor", "watchers", "resources")
        for module in (top / folder).rglob("*.py")
    )
    return frozenset(name for text in texts for name in _ENUMERATION.findall(text))


def _around_the_difference(before: ast.AST, after: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The nodes that differ, the outermost first, down to where it is not one child of theirs that does."""
    while type(before) is type(after):
        yield before, after
        pairs = zip_longest(ast.iter_child_nodes(before), ast.iter_child_nodes(after))
        differing = [pair for pair in pairs if None in pair or ast.dump(pair[0]) != ast.dump(pair[1])]
        if len(differing) != 1 or None in differing[0]:
            return
        before, after = differing[0]


def _members(tree: ast.Module, enumerations: frozenset[str]) -> frozenset[str]:
    """How ``tree`` spells members of enumerations: ``Outcome.OK``, and the names that it gives to them."""
    found = {ast.unparse(node) for node in ast.walk(tree) if _is_member(node, enumerations)}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            (target,) = node.targets
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if len(names) == len(values):
                found |= {
                    ast.unparse(name)
                    for name, value in zip(names, values, strict=True)
                    if _is_member(value, enumerations)
                }
    return frozenset(found)


def _is_member(node: ast.AST, enumerations: frozenset[str]) -> bool:
    return (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in enumerations
    )


def _is_same_comparison(before: ast.AST, after: ast.AST, members: frozenset[str]) -> bool:
    if not (isinstance(before, ast.Compare) and isinstance(after, ast.Compare)) or len(before.ops) != 1:
        return False
    operators = (type(before.ops[0]), type(after.ops[0]))
    if operators not in ((ast.Is, ast.Eq), (ast.IsNot, ast.NotEq)):
        return False
    left, right = ast.unparse(before.left), ast.unparse(before.comparators[0])
    return right == "None" or right in members or left.startswith("type(")


def _is_same_value(before: ast.AST, after: ast.AST) -> bool:
    return _is_constant(before) and _is_constant(after) and _value(before) == _value(after) is not None


def _is_constant(node: ast.AST) -> bool:
    names = (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
    return all(isinstance(each, _CONSTANT_NODES) for each in ast.walk(node)) and all(
        name in _MODULES for name in names
    )


def _value(node: ast.AST) -> object:
    try:
        return eval(ast.unparse(node), dict(_MODULES))
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return None


def _has_same_parameters(before: ast.AST, after: ast.AST) -> bool:
    if not (isinstance(before, ast.arguments) and isinstance(after, ast.arguments)):
        return False
    return bool(before.kwonlyargs and after.posonlyargs) and _parameters(before) == _parameters(after)


def _parameters(of: ast.arguments) -> list[str]:
    return [each.arg for each in (*of.posonlyargs, *of.args, *of.kwonlyargs)]


def _differs_in_memory_only(before: ast.AST, after: ast.AST) -> bool:
    if (
        not (isinstance(before, ast.Call) and isinstance(after, ast.Call))
        or ast.unparse(before.func) != "dataclass"
    ):
        return False
    pairs = zip(before.keywords, after.keywords, strict=True)
    changed = {old.arg for old, new in pairs if ast.dump(old) != ast.dump(new)}
    return changed in ({"repr"}, {"slots"})
