"""The three engines behind one small interface: compile a source once, render it as often as needed.

A template loads others by name through the loader that its user gave. The loader is asked again in each rendering,
for each name, so whoever wants to know which partials a rendering used writes the names down in the loader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

from reactor.templates.bounds import DEFAULT_BOUNDS, Bounds
from reactor.templates.calls import Functions

Loader = Callable[[str], str | None]
"""The source of a template by its name; None when there is none of that name."""
Delimiters = tuple[str, str]

ENGINES = ("jinja", "go", "jet")


class Compiled(Protocol):
    """A template that is ready to be rendered."""

    @property
    def dependencies(self) -> frozenset[str]:
        """The names of the templates that it loads whatever the data are, as far as its own source tells."""

    def render(self, context: Mapping[str, Any], functions: Functions) -> str:
        """The text for these data. Pure, if the functions are. Raises TemplateError.

        In Go's and Jet's, ``.`` is all of ``context``, or what it has under this name.
        """


class Engine(Protocol):
    """One language of templates."""

    def compile(self, source: str, *, name: str, delimiters: Delimiters | None, loader: Loader) -> Compiled:
        """``source``, ready to be rendered; ``name`` is for errors. Raises TemplateError."""


@cache
def template_engine(name: str, bounds: Bounds = DEFAULT_BOUNDS) -> Engine:
    """The engine ``jinja``, ``go`` or ``jet``. Raises ValueError for any other name."""
    if name == "jinja":
        from reactor.templates.jinja.engine import JinjaEngine  # noqa: PLC0415  most manifests have no templates

        return JinjaEngine(bounds)
    if name == "go":
        from reactor.templates.go.engine import GoEngine  # noqa: PLC0415

        return GoEngine(bounds)
    if name == "jet":
        from reactor.templates.jet.engine import JetEngine  # noqa: PLC0415

        return JetEngine(bounds)
    raise ValueError(f"there is no template engine {name!r}: take one of {', '.join(ENGINES)}")
