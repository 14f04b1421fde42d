"""Content that a template renders, with the data, facts and environment that the templates of a scaffold get."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from reactor import (
    DistrustedError,
    ResourceError,
    TemplateSource,
    emit_output,
    in_thread,
    sandboxed_engine,
)
from reactor.hostfs import ErrorContext, Inline, Stamp, stamp_is_reliable, stamp_of
from reactor.resources.file.property_types import TemplatePath
from reactor.resources.scaffold.rendering import Renderer, Values, template_functions
from reactor.resources.scaffold.source import read_template


class _Template(NamedTuple):
    """``text`` is None if there is no such file; ``stamp`` is None while it is not reliable."""

    text: str | None
    stamp: Stamp | None


class SourceFile:
    """One template, and the templates beside it or below its directory that it includes."""

    def __init__(self, path: str) -> None:
        self.root, self._name = os.path.split(path)
        self._known: dict[str, _Template] = {}

    def refresh(self) -> frozenset[str]:
        """Read what has changed of the known templates. Returns their paths below `root`. Raises ResourceError."""
        known = self._known or {self._name: _Template(None, None)}
        found = {name: self._look(name) for name in known}
        before, self._known = known, found
        return frozenset(name for name, now in found.items() if now.text != before[name].text)

    def refresh_only(self, paths: Iterable[str]) -> None:
        """Do nothing: all are read."""

    def read(self, name: str) -> str | None:
        """The text of a template; None if there is none. One that is included is read when it is first used."""
        if name not in self._known:
            self._known[name] = self._look(name)
        return self._known[name].text

    def outputs(self) -> Iterator[str]:
        """The one template that makes the file."""
        yield self._name

    @property
    def paths(self) -> frozenset[str]:
        """The absolute paths of the templates that were used, also of missing ones."""
        return frozenset(self._absolute(name) for name in self._known or (self._name,))

    def is_current(self) -> bool:
        """Whether no template has certainly changed since it was read."""
        return bool(self._known) and all(
            each.stamp is not None and each.stamp == _stamp_at(self._absolute(name))
            for name, each in self._known.items()
        )

    def _absolute(self, name: str) -> str:
        return os.path.normpath(os.path.join(self.root, name))

    def _look(self, name: str) -> _Template:
        path, known, now = self._absolute(name), self._known.get(name), time.time_ns()
        is_own = name == self._name
        if not is_own and not path.startswith(f"{self.root.rstrip('/')}/"):
            return _Template(None, None)  # as in a scaffold, templates include no files outside
        with ErrorContext(f"read the template {path}"), _refusing():
            try:
                found = os.stat(path)
                if known is not None and known.stamp == stamp_of(found):
                    return known
                text = read_template(path, found, "copy other files with source")
            except FileNotFoundError:
                if is_own:
                    words, hint = f"the template {path} does not exist", "correct the path"
                    raise ResourceError(words, hint, missing=path) from None
                return _Template(None, None)
        return _Template(text, stamp_of(found) if stamp_is_reliable(found, now) else None)


def _stamp_at(path: str) -> Stamp | None:
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return None


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except DistrustedError as error:
        raise ResourceError(f"the template can't be trusted: {error}", error.hint) from error


class TemplateContent:
    """The content that a template renders. It is rendered again when something that it has read may have changed."""

    def __init__(
        self, path: TemplatePath, engine: str, data: dict[str, Any] | None, *, is_secret: bool
    ) -> None:
        self.values = path.values
        self.is_secret = is_secret or path.values.has_secrets
        """Whether the content may show a secret."""
        self._has_own_secret = is_secret
        self._path = path
        self._source = SourceFile(path)
        self._make = partial(self._renderer_of, engine, data)
        self._renderer: Renderer | None = None
        self._inline: Inline | None = None
        self._harmless: Inline | None = None
        """The content that showed no secret, if any was compared."""

    def _renderer_of(
        self, engine: str, data: dict[str, Any] | None, source: SourceFile, values: Values
    ) -> Renderer:
        make: Callable[..., Any] = partial(sandboxed_engine(engine).tree, delimiters=None)
        overlay = {} if data is None else {"data": data, "Data": data}
        return Renderer(source, make, values, overlay, skip_empty=False, is_secret=self.is_secret)

    @property
    def inputs(self) -> frozenset[str]:
        """The absolute paths of the template, and of all that the last rendering has read."""
        read = frozenset() if self._renderer is None else self._renderer.reads
        return self._source.paths | read

    def unchanged(self) -> bool:
        """Whether nothing that the last rendering has read has changed."""
        return (
            self._inline is not None
            and self._renderer is not None
            and not self._renderer.is_stale
            and self._source.is_current()
        )

    async def equals(self, fd: int, size: int) -> bool:
        """Whether the file open at ``fd``, of ``size`` bytes, has the content. Raises ResourceError."""
        return await (await self._current()).equals(fd, size)

    async def copy_to(self, fd: int) -> None:
        """Write the content to ``fd``. Raises ResourceError."""
        await (await self._current()).copy_to(fd)

    async def prepare(self) -> None:
        """Render the content. Raises ResourceError."""
        await self._current()

    async def shows_no_secret(self) -> bool:
        """Whether it is the same whatever the secrets are: it is rendered once more, with others. Raises ResourceError."""
        content = await self._current()
        if self._has_own_secret or (others := self.values.with_other_secrets()) is None:
            return False
        if self._harmless is not content and await in_thread(self._renders_the_same, others, content):
            self._harmless = content
        return self._harmless is content

    def _renders_the_same(self, others: Values, content: Inline) -> bool:
        renderer = self._make(SourceFile(self._path), others)
        try:
            renderer.refresh()
        except ResourceError:  # of a secret that another one can't stand for
            return False
        return [text.encode() for text in renderer.files.values()] == [content.data]

    def head(self, limit: int) -> bytes:
        """The first ``limit`` bytes of the content that `prepare` rendered."""
        return b"" if self._inline is None else self._inline.head(limit)

    async def _current(self) -> Inline:
        if self._inline is None or not self.unchanged():
            renderer = self._renderer = self._renderer or self._make(self._source, self.values)
            self._inline = None
            self._inline = await in_thread(self._render, renderer)
            for remark in renderer.remarks():
                emit_output(remark)
        return self._inline

    def _render(self, renderer: Renderer) -> Inline:
        renderer.refresh()
        if len(renderer.files) > 1:
            words = f"{self._path} writes further files, which the template of one file can't"
            raise ResourceError(words, "make it a scaffold, or remove write()")
        return Inline(next(iter(renderer.files.values())))


def template_source(path: TemplatePath, engine: str) -> TemplateSource:
    """The template at ``path`` and how ``engine`` compiles it. Raises ResourceError."""
    file = SourceFile(path)
    text = file.read(os.path.basename(path)) or ""
    functions, variables = template_functions(path.values), frozenset(("data", "Data", *path.values.context))
    return TemplateSource(path, text, engine, None, file.root, file.read, functions, variables)
