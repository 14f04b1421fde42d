"""A cache of parsed sources, for the engines that parse these themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from reactor.language.errors import Fault, TemplateSourceError, located
from reactor.language.templates.budget import Limits
from reactor.language.templates.engine import Delimiters, Loader

Tree = TypeVar("Tree")
Parse = Callable[[str, Delimiters], Tree]

_TOO_DEEP = "the template is nested too deep"


@lru_cache(maxsize=1024)
def _tree(parse: Parse[Tree], source: str, delimiters: Delimiters) -> Tree:
    return parse(source, delimiters)


def parse_cached(parse: Parse[Tree], source: str, name: str, delimiters: Delimiters) -> Tree:
    """Return the tree of ``source``. It is parsed once, and then cached. Raises TemplateSourceError."""
    try:
        tree: Tree = _tree(parse, source, delimiters)
    except Fault as fault:
        raise located(fault, name, source, 0, TemplateSourceError) from fault
    except RecursionError as error:
        raise located(Fault(_TOO_DEEP), name, source, 0, TemplateSourceError) from error
    return tree


@dataclass(frozen=True, slots=True)
class ParsedTemplate(Generic[Tree]):
    """The parts of a compiled Go or Jet template. ``loader`` returns the sources of other templates."""

    name: str
    tree: Tree
    delimiters: Delimiters
    loader: Loader
    limits: Limits
