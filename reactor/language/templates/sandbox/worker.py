"""The program of a worker process: ``python -I -m reactor.language.templates.sandbox.worker DESCRIPTOR PARENT``.

It receives a context, and sources to render with it. It responds with rendered text, or with an error and its place.
It sends requests to its parent for sources of other templates, function calls and facts.
"""

from __future__ import annotations

import codecs
import importlib
import os
import posixpath
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from reactor.language.errors import LimitFault, TemplateError, TemplateSourceError
from reactor.language.templates.budget import Limits, MemoryLimit, current_budget, limited
from reactor.language.templates.calls import Functions
from reactor.language.templates.engine import Delimiters, Engine
from reactor.language.templates.engines import ENGINES, template_engine
from reactor.language.templates.missing_values import MissingValues
from reactor.language.templates.sandbox.channel import Channel, ChannelError
from reactor.language.templates.sandbox.limits import RECYCLED, ProcessLimits
from reactor.language.templates.sandbox.requests import AbortedError, HostRequests


class Sources(Protocol):
    """Provides the other templates and the functions."""

    @property
    def functions(self) -> Functions:
        """The functions that templates may call."""

    def load(self, name: str) -> str | None:
        """Return the source of a template of the tree; None if there is no such template."""


class Tree:
    """One rendering.

    ``used`` has the paths that it loaded, including missing ones; ``written`` has the additional files.
    """

    def __init__(
        self,
        engine: Engine,
        delimiters: Delimiters | None,
        sources: Sources,
        context: Mapping[str, Any],
        missing: MissingValues | None = None,
    ) -> None:
        self._engine = engine
        self._delimiters = delimiters
        self._sources = sources
        self._context = context
        self._missing = missing
        self._functions: dict[str, Callable[..., Any]] = {
            **sources.functions,
            "render": self._render_partial,
            "write": self._write,
        }
        self.used: set[str] = set()
        self.written: dict[str, str] = {}

    def render(self, name: str, source: str) -> str:
        """Return the rendered text of the template ``source`` at the path ``name``. Raises TemplateError."""
        return self._render(name, source, self._context)

    def _render(self, name: str, source: str, context: Mapping[str, Any]) -> str:
        compiled = self._engine.compile(source, name=name, delimiters=self._delimiters, loader=self._load)
        return compiled.render(context, self._functions, self._missing)

    def _load(self, name: str) -> str | None:
        path = posixpath.normpath(name)
        self.used.add(path)
        return self._sources.load(path)

    def _render_partial(self, name: str, data: Any) -> str:
        """Implement ``render(partial, data)``: return the rendered text of another template of the tree.

        A map is merged over the context. Any other value becomes ``.`` and ``data``.
        """
        source = self._load(name)
        if source is None:
            raise ValueError(f"there is no template {name} in the tree")
        given = data if isinstance(data, Mapping) else {".": data, "data": data}
        return self._render(posixpath.normpath(name), source, {**self._context, **given})

    def _write(self, name: str, content: str) -> str:
        """Implement ``write(path, content)``: add a file below the target."""
        path = posixpath.normpath(name)
        if path.startswith(("/", "../")) or path in ("..", "."):
            raise ValueError(f"{name} is not inside the target")
        current_budget().charge_characters(len(content))
        self.written[path] = content
        return ""


_IMPORTED_ON_USE: Final = (
    "_strptime", "base64", "difflib", "html", "inspect", "jinja2.debug", "logging", "pprint", "re2", "textwrap",
    "unicodedata", "yaml", "zoneinfo",
    *(("_pylong",) if sys.version_info >= (3, 12) else ()),  # divides long integers
)  # fmt: skip
_CODECS: Final = (
    "ascii",
    "idna",
    "latin-1",
    "punycode",
    "raw-unicode-escape",
    "unicode-escape",
    "utf-16",
    "utf-32",
)
"""Modules and codecs to import before the process becomes the user nobody: it could not import them afterwards."""
_MOST_MISSING: Final = 1000
"""The most warnings about missing values that are sent for one template."""
_NO_MEMORY = "the template needs more than 100 MB of memory"
_HINT = "look for a loop that makes ever longer strings or lists, or simplify the template"


class Worker:
    """Serves the requests of one parent."""

    def __init__(self, channel: Channel, confinement: ProcessLimits) -> None:
        self._channel = channel
        self._confinement = confinement
        self._questions = HostRequests(channel)
        self._context: dict[str, Any] = {}

    def serve(self) -> None:
        """Serve requests until the parent ends."""
        while True:
            message, texts = self._channel.receive()
            if "values" in message:
                self._confinement.lift()
                self._context = self._questions.context(message)
                self._channel.send({"taken": True})
            else:
                self._render_all(message, texts)

    def _render_all(self, message: dict[str, Any], sources: list[str]) -> None:
        """Render one source after the other, up to the first that fails."""
        for name, source in zip(message["names"], sources, strict=True):
            limits = Limits(*message["limits"])
            self._confinement.allow(limits.seconds)
            self._questions.forget()
            try:
                answer, texts = self._rendered(message, name, source, limits)
            except TemplateError as error:
                answer, texts = _failure(error), []
            except AbortedError:
                answer, texts = {"aborted": True}, []
            except Exception as error:  # noqa: BLE001 - only this template fails, and the process continues
                answer, texts = _failure(_unexpected(error, name)), []
            self._confinement.lift()  # the response may be as long as the limits of the rendering allow
            if self._confinement.data_bytes > RECYCLED:
                answer["last"] = True
            self._channel.send(answer, texts)
            if "made" not in answer or "last" in answer:
                return

    def _rendered(
        self, message: dict[str, Any], name: str, source: str, limits: Limits
    ) -> tuple[dict[str, Any], list[str]]:
        delimiters = tuple(message["delimiters"]) if message["delimiters"] else None
        engine = template_engine(message["engine"], limits)
        functions = self._questions.functions
        missing = None if message["strict"] is None else MissingValues(strict=message["strict"])
        with limited(limits):
            if message["tree"]:
                tree = Tree(engine, delimiters, self._questions, self._context, missing)
                texts = [tree.render(name, source), *tree.written.values()]
                answer = {"made": True, "used": sorted(tree.used), "written": [*tree.written]}
            else:
                compiled = engine.compile(
                    source, name=name, delimiters=delimiters, loader=self._questions.load
                )
                texts = [compiled.render(self._context, functions, missing)]
                answer = {"made": True}
        if missing is not None and missing.warnings:
            answer["missing"] = [_spelt(each) for each in missing.warnings[:_MOST_MISSING]]
        return answer, texts


def _unexpected(error: Exception, name: str) -> TemplateError:
    """Return the error for an unexpected exception. The exception is its cause, as in the errors of engines."""
    found = TemplateError(f"the template failed: {type(error).__name__}: {error}", name, 1, 1)
    found.__cause__ = error
    return found


def _failure(error: TemplateError) -> dict[str, Any]:
    cause = error.__cause__
    message = _NO_MEMORY if isinstance(cause, MemoryError) else error.message
    hint = _HINT if isinstance(cause, MemoryError) else error.hint
    code = LimitFault.code if isinstance(cause, MemoryError) else error.code
    return {
        "failed": [message, *_spelt(error)[1:4], hint, code],
        "is_source": isinstance(error, TemplateSourceError),
    }


def _spelt(error: TemplateError) -> list[Any]:
    """Return ``error`` as a list of the arguments from which the parent can make an equal error."""
    return [error.message, error.name, error.line, error.column, error.hint, error.code]


def main() -> None:
    """Serve the parent at the other end of the descriptor, until the parent ends."""
    descriptor, parent = map(int, sys.argv[1:])
    for module in _IMPORTED_ON_USE:
        importlib.import_module(module)
    for codec in _CODECS:
        codecs.lookup(codec)
    for name in ENGINES:
        template_engine(name)
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        confinement = ProcessLimits(parent)
    except OSError as error:
        channel.send({"lacks": str(error)})
        return
    MemoryLimit.lift = confinement.lift
    try:
        channel.send({"ready": os.getpid()})
        Worker(channel, confinement).serve()
    except ChannelError:
        pass  # the parent has ended


if __name__ == "__main__":
    main()
