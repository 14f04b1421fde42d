"""What every engine of templates offers: it compiles a source once, and renders it as often as needed.

A template loads others by name through the loader that its user gave. The loader is asked again in each rendering,
for each name, so whoever wants to know which partials a rendering used writes the names down in the loader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from reactor.language.templates.calls import Functions
from reactor.language.templates.missing_values import Absence

Loader = Callable[[str], str | None]
"""The source of a template by its name; None when there is none of that name."""
Delimiters = tuple[str, str]


class Compiled(Protocol):
    """A template that is ready to be rendered."""

    def render(self, context: Mapping[str, Any], functions: Functions, absence: Absence | None = None) -> str:
        """The text for these data. Pure, if the functions are. Raises TemplateError.

        ``absence`` says what becomes of values that are missing; without one, what the language has for them.
        In Go's and Jet's, ``.`` is all of ``context``, or what it has under this name.
        """


class Engine(Protocol):
    """One language of templates."""

    def compile(self, source: str, *, name: str, delimiters: Delimiters | None, loader: Loader) -> Compiled:
        """``source``, ready to be rendered; ``name`` is for errors. Raises TemplateError."""
