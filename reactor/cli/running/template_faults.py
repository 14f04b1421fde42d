"""What is wrong with templates whatever the data are: their syntax, unknown names, and templates that are not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from reactor.language.errors import TemplateError
from reactor.language.templates.engines import template_engine
from reactor.resource.diagnostic import Diagnostic
from reactor.resource.plan import ResourceError
from reactor.trust.rule import DistrustedError

if TYPE_CHECKING:
    from reactor.language.templates.engine import CompiledTemplate, Reference
    from reactor.resource.relations import TemplateSource


class TemplateFindings(NamedTuple):
    """The errors of templates that no data can avoid, and a sentence for each template that may be missing in a run."""

    errors: list[Diagnostic]
    warnings: list[str]


def check_templates(sources: Iterable[TemplateSource], is_made: Callable[[str], bool]) -> TemplateFindings:
    """Check the templates and those they include. A path for which ``is_made`` is true is not read: a resource makes it.

    That a template is missing is no error: it may be named in a condition that is never true.
    """
    checks = _Checks(is_made)
    for source in sources:
        checks.add(source)
    return checks.found


class _Checks:
    def __init__(self, is_made: Callable[[str], bool]) -> None:
        self.found = TemplateFindings([], [])
        self._is_made = is_made
        self._seen: set[tuple[str, str]] = set()

    def add(self, source: TemplateSource) -> None:
        """Check one template and those it includes."""
        waiting = [(os.path.relpath(source.path, source.root), source.text)]
        defined: set[str] = set()
        missing: list[tuple[str, Reference]] = []
        while waiting:
            name, text = waiting.pop()
            path = os.path.normpath(os.path.join(source.root, name))
            if self._is_made(path) or (path, source.engine) in self._seen:
                continue
            self._seen.add((path, source.engine))
            if (compiled := self._compiled(source, name, path, text)) is None:
                continue
            defined.update(compiled.defines)
            for reference in compiled.references():
                if any(self._is_made(os.path.join(source.root, each)) for each in reference.names):
                    continue
                if (loaded := self._loaded(source, path, reference)) is None:
                    missing.append((path, reference))
                waiting += loaded or ()
        self.found.warnings.extend(
            _sentence(path, reference, source.root)
            for path, reference in missing
            if defined.isdisjoint(reference.names)
        )

    def _compiled(self, source: TemplateSource, name: str, path: str, text: str) -> CompiledTemplate | None:
        engine = template_engine(source.engine)
        try:
            compiled = engine.compile(
                text, name=name, delimiters=source.delimiters, loader=lambda _name: None
            )
        except TemplateError as error:
            for each in (error, *error.others):
                self._note(each, path)
            return None
        is_included = path != source.path
        for unknown in compiled.unknown_names(source.functions, None if is_included else source.variables):
            self._note(unknown, path)
        return compiled

    def _note(self, error: TemplateError, path: str) -> None:
        place = error.place and error.place._replace(file=path)
        self.found.errors.append(Diagnostic(error.code, error.message, place, error.hint))

    def _loaded(
        self, source: TemplateSource, path: str, reference: Reference
    ) -> list[tuple[str, str]] | None:
        """Return the first template of ``reference`` with its name, or nothing if it can't be read; None if it is missing."""
        for name in reference.names:
            try:
                text = source.load(os.path.normpath(name))
            except ResourceError as error:
                if not isinstance(error.__cause__, DistrustedError):
                    self.found.warnings.append(f"{path}:{reference.line}:{reference.column}: {error.message}")
                return []
            if text is not None:
                return [(name, text)]
        return None


def _sentence(path: str, reference: Reference, root: str) -> str:
    named = " or ".join(reference.names[:2])
    return f"{path}:{reference.line}:{reference.column}: there is no template {named}: it is looked up from {root}"
