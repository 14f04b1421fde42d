"""The interface of the engines.

An engine compiles a source once, and can render it many times. A template loads others by name through the loader that
the caller passes. Each rendering calls the loader again for each name. To find out which partials a rendering used,
record the names in the loader.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from reactor.language.errors import TemplateError
from reactor.language.templates.calls import Functions
from reactor.language.templates.missing_values import MissingValues

Loader = Callable[[str], str | None]
"""Returns the source of a template by name; None if there is no such template."""
Delimiters = tuple[str, str]


class Reference(NamedTuple):
    """A place that names another template: the first of ``names`` that there is."""

    names: tuple[str, ...]
    line: int
    column: int


class CompiledTemplate(Protocol):
    """A compiled template."""

    def render(
        self, context: Mapping[str, Any], functions: Functions, missing: MissingValues | None = None
    ) -> str:
        """Return the rendered text. Pure if the functions are. Raises TemplateError.

        ``missing`` decides about missing values; without it, they render as the language defines. In Go's templates
        and Jet, ``.`` is the value of ``.`` in ``context`` if there is one, else all of ``context``.
        """

    def unknown_names(
        self, functions: Collection[str], variables: Collection[str] | None
    ) -> Iterator[TemplateError]:
        """Yield an error for each function that neither the language has nor ``functions``, where that can be told.

        The same for variables, unless ``variables``, those that the template gets, are None: not known.
        """

    def references(self) -> Iterator[Reference]:
        """Yield the other templates that it names, as far as the names are in its source and may not be missing."""

    @property
    def defines(self) -> Collection[str]:
        """The names of the templates that it defines for all that are rendered with it."""


class Engine(Protocol):
    """One template language."""

    def compile(
        self, source: str, *, name: str, delimiters: Delimiters | None, loader: Loader
    ) -> CompiledTemplate:
        """Compile ``source``. Errors name it ``name``. Raises TemplateError."""
