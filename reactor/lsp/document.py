"""One open manifest: its text, its outline, and the problems that ``reactor validate`` finds in it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reactor.errors import Place
from reactor.loading import validated
from reactor.lsp.outline import Outline
from reactor.lsp.references import Span
from reactor.manifest.bound_items import BoundItems
from reactor.manifest.inputs import Inputs
from reactor.manifest.source import with_line_feeds
from reactor.resource.diagnostic import Diagnostic, ManifestError, placed
from reactor.roles.finder import CachedFinder

_TOKEN = re.compile(
    r"""\$\{[^}]*\}|\{\{.*?\}\}|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s,\[\]{}:]+(?::[^\s,\[\]{}:]+)*|."""
)


MOST_PROBLEMS = 100
"""How many problems of one manifest are shown. One mistake in a default may be a problem of each of 10,000 resources."""


class Problem(NamedTuple):
    """One problem at a place of the open manifest; one in another file is at the first place that leads to it."""

    span: Span
    message: str
    code: str | None
    related: tuple[tuple[str, Place], ...] = ()
    is_warning: bool = False


class Document:
    """One version of an open manifest. ``data`` are those of the last time when it was valid.

    ``before`` is the version that was open before this one.
    """

    def __init__(self, path: str, text: str, before: Document | None = None) -> None:
        self.path = path
        self.text = with_line_feeds(text)
        self.data: Mapping[str, Any] = before.data if before else {}
        self.outline: Outline = Outline(self.text, before.outline if before else None)
        """The keys and values by lines and indentation."""
        self.lines: list[str] = self.outline.lines
        """The lines of the text."""
        self.bound: BoundItems = before.bound if before else BoundItems()
        """What the last check made of the resources."""
        self.files: frozenset[str] | None = None
        """The files that the last check depends on, as absolute paths; None before the first check."""
        self._made: Any = None

    def problems(self, inputs: Inputs, unsaved: Mapping[str, str], external: Sequence[str]) -> list[Problem]:
        """Return what ``reactor validate`` reports for this text. ``unsaved`` has the texts of all open manifests.

        If there are too many, the last one says how many follow. Fetches nothing and reads no secrets: a role that is
        not in the cache is a problem.
        """
        known = inputs._replace(
            unsaved=unsaved, roles=CachedFinder(inputs.cache), secret_reader=None, bound=self.bound
        )
        warnings: list[str] = []
        try:
            manifest, graph = validated(self.path, known, warnings.append, external)
        except ManifestError as error:
            self._made, self.files = error, frozenset(error.files) or None
            return self._shown(error.diagnostics)
        self._made, self.files = (manifest, graph), frozenset(manifest.files)
        self.data = manifest.data
        return [self._warning(each) for each in (*warnings, *manifest.warnings, *inputs.notes)]

    def forget(self) -> None:
        """Free what the check has made and its result does not need. This takes some milliseconds."""
        self._made = None
        self.bound.end()

    def _shown(self, diagnostics: Sequence[Diagnostic]) -> list[Problem]:
        shown = [self._problem(each) for each in diagnostics[:MOST_PROBLEMS]]
        if more := len(diagnostics) - len(shown):
            message = f"not shown: {more} more problems; fix those above first, or run 'reactor validate'"
            shown.append(Problem(self._problem(diagnostics[MOST_PROBLEMS]).span, message, None))
        return shown

    def _problem(self, found: Diagnostic) -> Problem:
        message = f"{found.message}\n{found.hint}" if found.hint else found.message
        related = tuple((note, place) for note, place in found.notes if place is not None)
        if found.place is None or self._is_here(found.place):
            return Problem(self._span(found.place), message, found.code, related)
        at = next((place for _, place in related if self._is_here(place)), None)
        inside = (f"{os.path.basename(found.place.file)}: {found.message}", found.place)
        return Problem(self._span(at), f"{found.place}: {message}", found.code, (inside, *related))

    def _warning(self, text: str) -> Problem:
        place, message = placed(text)
        if place is None or not self._is_here(place):
            return Problem(self._span(None), text, None, is_warning=True)
        return Problem(self._span(place), message, None, is_warning=True)

    def _is_here(self, place: Place) -> bool:
        return os.path.abspath(place.file) == self.path

    def _span(self, place: Place | None) -> Span:
        """Return the word or the quoted string that begins at ``place``."""
        if place is None or place.line > len(self.lines):
            return Span(0, 0, len(self.lines[0]))
        line, column = self.lines[place.line - 1], place.column - 1
        found = _TOKEN.match(line, column)
        return Span(place.line - 1, column, found.end() if found else column)
