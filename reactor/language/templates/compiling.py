"""Parses each source once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from reactor.language.errors import Fault, TemplateSourceError, located
from reactor.language.templates.interface import Delimiters

Tree = TypeVar("Tree")
Parse = Callable[[str, Delimiters], Tree]

_TOO_DEEP = "the template is nested too deep"


@lru_cache(maxsize=1024)
def _tree(parse: Parse[Tree], source: str, delimiters: Delimiters) -> Tree:
    return parse(source, delimiters)


def parsed(parse: Parse[Tree], source: str, name: str, delimiters: Delimiters) -> Tree:
    """The tree of ``source``. Raises TemplateSourceError."""
    try:
        tree: Tree = _tree(parse, source, delimiters)
    except Fault as fault:
        raise located(fault, name, source, 0, TemplateSourceError) from fault
    except RecursionError as error:
        raise located(Fault(_TOO_DEEP), name, source, 0, TemplateSourceError) from error
    return tree
