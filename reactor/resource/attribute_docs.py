"""Reads the docstrings below the properties of a kind, which Python itself discards."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise


def attribute_docs(cls: type) -> dict[str, str]:
    """The docstring of each annotated attribute of ``cls`` and its bases; a class takes precedence over its bases.

    Empty for a class whose source is not available.
    """
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        found.update(_own(each))
    return found


@cache
def _own(cls: type) -> dict[str, str]:
    """The docstrings of the class itself.

    Cached: reading the source takes milliseconds, and all kinds have bases in common.
    """
    return dict(_found(cls))


def _found(cls: type) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return
    [definition] = tree.body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    for attribute, text in pairwise(body):
        if (
            isinstance(attribute, ast.AnnAssign)
            and isinstance(attribute.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            yield attribute.target.id, inspect.cleandoc(text.value.value)
