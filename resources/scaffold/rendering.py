"""Renders the tree in memory: only what has changed, and what uses what has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

from reactor import Absence, ResourceError, TemplateError
from reactor.hostfs import Stamp, settled, stamp_of
from resources.scaffold.source import SourceTree
from resources.scaffold.values import Functions, Values


class Compiled(Protocol):
    """A template that is ready to be rendered."""

    def render(self, context: Mapping[str, Any], functions: Functions, absence: Absence) -> str:
        """Its text."""


Compile = Callable[..., Compiled]
"""Makes a template of a source, with its ``name`` for errors and a ``loader`` of others."""


@dataclass(slots=True)
class Rendered:
    """What one template made, and what that depends on."""

    text: str = ""
    used: set[str] = field(default_factory=set)
    """The paths it asked for, also those that were not there."""
    written: dict[str, str] = field(default_factory=dict)
    """Further files, from ``write()``."""
    read: dict[str, Stamp | None] = field(default_factory=dict)
    """The files that functions have read, with stamps that prove that they have not changed since."""

    @property
    def is_stale(self) -> bool:
        """Whether a file that functions have read may have changed."""
        return any(
            stamp is None or _stamp(path, time.time_ns()) != stamp for path, stamp in self.read.items()
        )


class Renderer:
    """The files that a tree of templates makes of some data."""

    def __init__(
        self,
        source: SourceTree,
        compile_template: Compile,
        values: Values,
        overlay: Mapping[str, Any],
        *,
        skip_empty: bool,
        is_secret: bool,
    ) -> None:
        self._source = source
        self._values = values
        self._skip_empty = skip_empty
        self._is_secret = is_secret
        self._compile = compile_template
        self._context = {**values.context, **overlay}
        self._functions = {**values.functions, "render": self._render_partial, "write": self._write}
        self._rendered: dict[str, Rendered] = {}
        self._owed: set[str] = set()
        """Paths that have changed and were not rendered since: also those of a rendering that failed."""
        self.files: dict[str, str] = {}
        """What the templates make: texts by their paths below the target."""
        self._compiled: dict[str, tuple[str, Compiled]] = {}
        self._current = Rendered()
        self._remarks: dict[str, bool] = {}
        """What is missing, and whether that was told."""

    def refresh(self, paths: Iterable[str] | None = None) -> frozenset[str]:
        """Render what has changed since the last time; the paths of the files made anew.

        Only ``paths`` are looked at, where they are given. Raises ResourceError for the first template that can't be
        rendered; then nothing of this tree has changed.
        """
        changed = None if paths is None else self._source.refresh_only(paths)
        if changed is None:
            changed = self._source.refresh()
            self._owed |= {path for path, rendered in self._rendered.items() if rendered.is_stale}
        self._owed |= changed
        if not self._owed and self._rendered:
            return frozenset()
        outputs = list(self._source.outputs())
        due = [path for path in outputs if self._is_due(path)]
        made = {path: self._render(path) for path in due}
        self._rendered = {path: made.get(path) or self._rendered[path] for path in outputs}
        self._owed.clear()
        self.files = {path: text for path, text in self._texts() if text.strip() or not self._skip_empty}
        return frozenset(chain(due, *(rendered.written for rendered in made.values())))

    def _is_due(self, path: str) -> bool:
        rendered = self._rendered.get(path)
        return rendered is None or path in self._owed or not rendered.used.isdisjoint(self._owed)

    def _texts(self) -> Iterator[tuple[str, str]]:
        for path, rendered in self._rendered.items():
            yield path, rendered.text
            yield from rendered.written.items()

    def _render(self, path: str) -> Rendered:
        self._current = rendered = Rendered()
        self._values.reads.clear()
        begun = time.time_ns()
        try:
            rendered.text = self._text_of(path, self._context)
        except TemplateError as error:
            raise self._explained(error) from (None if self._is_secret else error)
        rendered.read = {read: _stamp(read, begun) for read in self._values.reads}
        return rendered

    def _explained(self, error: TemplateError) -> ResourceError:
        error = error.without_words() if self._is_secret else error
        return ResourceError(f"{self._place(error)}: {error.message}", error.hint)

    def _template(self, path: str) -> Compiled:
        """The template at ``path``, which is there, compiled unless it was."""
        text = self._source.read(path) or ""
        known = self._compiled.get(path)
        if known is not None and known[0] == text:
            return known[1]
        compiled = self._compile(text, name=path, loader=self._load)
        self._compiled[path] = text, compiled
        return compiled

    def _load(self, name: str) -> str | None:
        path = os.path.normpath(name)
        self._current.used.add(path)
        return self._source.read(path)

    def _render_partial(self, name: str, data: Any) -> str:
        """``render(partial, data)``: another template of the tree.

        A map of data is seen before all other data; anything else is what ``.`` and ``data`` stand for.
        """
        path = os.path.normpath(name)
        if self._load(path) is None:
            raise ValueError(f"there is no template {name} in {self._source.root}")
        given = data if isinstance(data, Mapping) else {".": data, "data": data}
        return self._text_of(path, {**self._context, **given})

    def _text_of(self, path: str, context: Mapping[str, Any]) -> str:
        absence = Absence(strict=self._values.strict)
        text = self._template(path).render(context, self._functions, absence)
        for each in absence.told:
            remark = f"warning: {self._place(each)}: {each.message}, so nothing is written, as in CCM"
            self._remarks.setdefault(remark, False)
        return text

    def remarks(self) -> list[str]:
        """What has been missing, without being an error, and was not told yet."""
        found = [remark for remark, is_told in self._remarks.items() if not is_told]
        self._remarks.update(dict.fromkeys(found, True))
        return found

    def _place(self, error: TemplateError) -> str:
        return f"{os.path.join(self._source.root, error.name)}:{error.line}:{error.column}"

    def _write(self, name: str, content: str) -> str:
        """``write(path, content)``: one more file below the target."""
        path = os.path.normpath(name)
        if path.startswith(("/", "../")) or path in ("..", "."):
            raise ValueError(f"{name} is not inside the target")
        self._current.written[path] = content
        return ""


def _stamp(path: str, now_ns: int) -> Stamp | None:
    """The stamp of a file that was read after ``now_ns``; None when it proves nothing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return stamp_of(found) if settled(found, now_ns) else None
