"""The program of a worker process: ``python -I -m reactor.language.templates.sandbox.worker DESCRIPTOR PARENT``.

It receives a context, and sources to render with it; it responds with rendered text, or with an error and its place.
It requests from the parent: sources of other templates, function calls, facts.
"""

from __future__ import annotations

import codecs
import importlib
import os
import socket
import sys
from typing import Any, Final

from reactor.language.errors import LimitFault, TemplateError, TemplateSourceError
from reactor.language.templates.budget import Limits, MemoryLimit, limited
from reactor.language.templates.engine import ENGINES, template_engine
from reactor.language.templates.missing_values import MissingValues
from reactor.language.templates.sandbox.channel import Channel, ChannelError
from reactor.language.templates.sandbox.limits import RECYCLED, ProcessLimits
from reactor.language.templates.sandbox.requests import AbortedError, HostRequests
from reactor.language.templates.sandbox.tree import Tree

_IMPORTED_LATE: Final = (
    "_strptime", "base64", "difflib", "html", "inspect", "jinja2.debug", "logging", "pprint", "re2", "textwrap",
    "unicodedata", "zoneinfo",
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
"""Modules and codecs that the engines and the library import on demand, which the user nobody can't do."""
_MOST_MISSING: Final = 1000
"""The most warnings about missing values of one template that are sent."""
_NO_MEMORY = "the template needs more than 100 MB of memory"
_HINT = "look for a loop that makes ever longer strings or lists; a template must be little work"


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
            except Exception as error:  # noqa: BLE001 - one template fails, the process stays
                answer, texts = _failure(_unexpected(error, name)), []
            self._confinement.lift()  # the response may be as long as the limits allow
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
    """Return the error for an unexpected exception, with its cause as the engines set it."""
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
    """Return the arguments of an equal error."""
    return [error.message, error.name, error.line, error.column, error.hint, error.code]


def main() -> None:
    """Serve the parent at the other end of the descriptor, until it ends."""
    descriptor, parent = map(int, sys.argv[1:])
    for module in _IMPORTED_LATE:
        importlib.import_module(module)
    for codec in _CODECS:
        codecs.lookup(codec)
    for name in ENGINES:
        template_engine(name)
    confinement = ProcessLimits(parent)
    MemoryLimit.lift = confinement.lift
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        channel.send({"ready": os.getpid()})
        Worker(channel, confinement).serve()
    except ChannelError:
        pass  # the parent has ended


if __name__ == "__main__":
    main()
