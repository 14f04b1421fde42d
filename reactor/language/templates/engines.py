"""The three engines, by their names."""

from __future__ import annotations

from functools import cache

from reactor.language.templates.bounds import DEFAULT_BOUNDS, Bounds
from reactor.language.templates.interface import Engine

ENGINES = ("jinja", "go", "jet")


@cache
def template_engine(name: str, bounds: Bounds = DEFAULT_BOUNDS) -> Engine:
    """The engine ``jinja``, ``go`` or ``jet``. Raises ValueError for any other name."""
    if name == "jinja":
        from reactor.language.templates.jinja.engine import JinjaEngine  # noqa: PLC0415  most manifests have no templates

        return JinjaEngine(bounds)
    if name == "go":
        from reactor.language.templates.go.engine import GoEngine  # noqa: PLC0415

        return GoEngine(bounds)
    if name == "jet":
        from reactor.language.templates.jet.engine import JetEngine  # noqa: PLC0415

        return JetEngine(bounds)
    raise ValueError(f"there is no template engine {name!r}: take one of {', '.join(ENGINES)}")
