"""The interface of the engines.

An engine compiles a source once, and can render it many times. A template loads others by name through the loader that
the caller passes. Each rendering calls the loader again for each name. To find out which partials a rendering used,
record the names in the loader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

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
