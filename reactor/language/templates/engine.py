"""The interface of the engines, the engines by name, and a cache of parsed sources.

An engine compiles a source once, and can render it many times. A template loads others by name through the loader that
the caller passes. Each rendering calls the loader again for each name. To find out which partials a rendering used,
record the names in the loader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Generic, Protocol, TypeVar

from reactor.language.errors import Fault, TemplateSourceError, located
from reactor.language.templates.budget import DEFAULT_LIMITS, Limits
from reactor.language.templates.calls import Functions
from reactor.language.templates.missing_values import MissingValues

Loader = Callable[[str], str | None]
"""Returns the source of a template by name; None if there is no such template."""
Delimiters = tuple[str, str]


class CompiledTemplate(Protocol):
    """A compiled template."""

    def render(
        self, context: Mapping[str, Any], functions: Functions, missing: MissingValues | None = None
    ) -> str:
        """Return the rendered text. Pure if the functions are. Raises TemplateError.

        ``missing`` decides about missing values; without it, they render as the language defines. In Go's templates
        and Jet, ``.`` is the value of ``.`` in ``context`` if there is one, else all of ``context``.
        """


class Engine(Protocol):
    """One template language."""

    def compile(
        self, source: str, *, name: str, delimiters: Delimiters | None, loader: Loader
    ) -> CompiledTemplate:
        """Compile ``source``. Errors name it ``name``. Raises TemplateError."""


ENGINES = ("jinja", "go", "jet")


@cache
def template_engine(name: str, limits: Limits = DEFAULT_LIMITS) -> Engine:
    """Return the engine ``jinja``, ``go`` or ``jet``. Raises ValueError for any other name."""
    if name == "jinja":
        from reactor.language.templates.jinja.engine import JinjaEngine  # noqa: PLC0415  most manifests have no templates

        return JinjaEngine(limits)
    if name == "go":
        from reactor.language.templates.go.engine import GoEngine  # noqa: PLC0415

        return GoEngine(limits)
    if name == "jet":
        from reactor.language.templates.jet.engine import JetEngine  # noqa: PLC0415

        return JetEngine(limits)
    raise ValueError(f"there is no template engine {name!r}: take one of {', '.join(ENGINES)}")


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
