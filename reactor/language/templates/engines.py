"""The engines by name."""

from __future__ import annotations

from functools import cache

from reactor.language.templates.budget import DEFAULT_LIMITS, Limits
from reactor.language.templates.engine import Engine

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
