"""The sandboxed engines: each rendering runs in a worker process with limits.

No template can block this process or use up its memory. The first rendering starts worker processes, which are kept
for later ones. Rendering blocks: call it in a thread.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any, Final

from reactor.language.errors import TemplateError
from reactor.language.templates.budget import DEFAULT_LIMITS, Limits
from reactor.language.templates.calls import Functions
from reactor.language.templates.engine import Delimiters, Loader
from reactor.language.templates.engines import ENGINES
from reactor.language.templates.missing_values import MissingValues
from reactor.language.templates.sandbox.process import Rendered, RenderRequest, WorkerError, WorkerProcess
from reactor.language.templates.sandbox.responses import HostResponses

_MOST_AT_ONCE: Final = 2
"""The most simultaneous renderings. Those that a function of another rendering starts do not count."""
_MOST_IN_A_MESSAGE: Final = 64
_CHARACTERS_IN_A_MESSAGE: Final = 1 << 18


class _Pool:
    """The pool of worker processes."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._own = threading.local()

    @contextmanager
    def helper(self, answers: HostResponses) -> Iterator[WorkerProcess]:
        """Yield a worker process, preferably one that already has the context of ``answers``. Raises WorkerError."""
        is_nested = getattr(self._own, "renders", False)
        if not is_nested:
            self._slots.acquire()
        try:
            self._own.renders = True
            found = self._idling(answers) or WorkerProcess()
            try:
                yield found
            finally:
                self._hold(found)
        finally:
            self._own.renders = is_nested
            if not is_nested:
                self._slots.release()

    def _idling(self, answers: HostResponses) -> WorkerProcess | None:
        with self._lock:
            ours = [each for each in self._idle if each.owner == os.getpid()]
            for each in ours:
                if each.has_exited:  # somebody has killed it, such as the kernel for want of memory
                    each.end()
            self._idle = [each for each in ours if each.is_alive]
            self._idle.sort(key=lambda each: each.knows(answers))
            return self._idle.pop() if self._idle else None

    def _hold(self, helper: WorkerProcess) -> None:
        with self._lock:
            if helper.is_alive and len(self._idle) < _MOST_AT_ONCE:
                self._idle.append(helper)
                return
        if helper.is_alive:
            helper.end()

    def end(self) -> None:
        """End the idle processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.end()
            each.wait()


_pool = _Pool()


@atexit.register
def end_all() -> None:
    """End the idle worker processes. The next rendering starts a new one."""
    _pool.end()


class SandboxedTemplate:
    """One template. A worker process compiles it when it is rendered."""

    def __init__(
        self, engine: SandboxedEngine, name: str, source: str, delimiters: Delimiters | None, loader: Loader
    ) -> None:
        self._engine = engine
        self._template = (name, source)
        self._delimiters = delimiters
        self._loader = loader

    def render(
        self, context: Mapping[str, Any], functions: Functions, missing: MissingValues | None = None
    ) -> str:
        """Return the rendered text. Raises TemplateError, and exceptions of functions that are not `MISTAKES`.

        ``missing`` decides about missing values; without it, they render as the language defines.
        """
        made: list[Rendered] = []
        answers, strict = HostResponses(context, functions), None if missing is None else missing.strict
        self._engine.render(
            [self._template], answers, self._loader, self._delimiters, made.append, strict=strict
        )
        if missing is not None:
            missing.warnings += made[0].missing
        return made[0].text


class SandboxedTree:
    """A tree of templates with the same context and functions.

    Its templates can also call ``render`` and ``write``.
    """

    def __init__(
        self,
        engine: SandboxedEngine,
        answers: HostResponses,
        delimiters: Delimiters | None,
        loader: Loader,
        *,
        strict: bool | None,
    ) -> None:
        self._engine = engine
        self._answers = answers
        self._strict = strict
        self._delimiters = delimiters
        self._loader = loader

    def render(self, templates: Sequence[tuple[str, str]], received: Callable[[Rendered], None]) -> None:
        """Render ``templates``, pairs of a path and a source, in order. Call ``received`` with each result.

        Calls it before the next template loads a source or calls a function. Raises TemplateError for the first
        template that fails.
        """
        self._engine.render(
            templates,
            self._answers,
            self._loader,
            self._delimiters,
            received,
            is_tree=True,
            strict=self._strict,
        )


class SandboxedEngine:
    """Renders templates of one language in worker processes."""

    def __init__(self, name: str, limits: Limits) -> None:
        self._name = name
        self._limits = limits

    def compile(
        self, source: str, *, name: str, delimiters: Delimiters | None, loader: Loader
    ) -> SandboxedTemplate:
        """Return the template ``source``. Errors name it ``name``."""
        return SandboxedTemplate(self, name, source, delimiters, loader)

    def tree(
        self,
        context: Mapping[str, Any],
        functions: Functions,
        *,
        delimiters: Delimiters | None,
        loader: Loader,
        strict: bool | None = None,
        moment: datetime | None = None,
    ) -> SandboxedTree:
        """Return a tree of templates with this context and these functions. They load each other through ``loader``.

        If ``strict`` is true, a missing value is an error, if false, a warning; with None, it renders as the language
        defines. ``moment`` freezes the clock; None means the time of each call.
        """
        answers = HostResponses(context, functions, moment)
        return SandboxedTree(self, answers, delimiters, loader, strict=strict)

    def render(
        self,
        templates: Sequence[tuple[str, str]],
        answers: HostResponses,
        loader: Loader,
        delimiters: Delimiters | None,
        received: Callable[[Rendered], None],
        *,
        is_tree: bool = False,
        strict: bool | None = None,
    ) -> None:
        """Render ``templates``, pairs of a name and a source, in order. Call ``received`` with each result.

        In a tree they can also call ``render`` and ``write``. Raises TemplateError for the first template that fails.
        """
        waiting = list(templates)
        while waiting:
            count = _fitting(waiting)
            work = RenderRequest(
                self._name,
                self._limits,
                delimiters,
                answers,
                loader,
                is_tree,
                waiting[:count],
                received,
                strict,
            )
            try:
                with _pool.helper(answers) as helper:
                    done = helper.render(work)
            except WorkerError as error:
                words = f"the process that renders templates can't be started: {error}"
                raise TemplateError(words, waiting[0][0], 1, 1) from error
            del waiting[:done]


def _fitting(templates: Sequence[tuple[str, str]]) -> int:
    """Return how many of ``templates`` fit into one message; at least 1."""
    room = _CHARACTERS_IN_A_MESSAGE
    for index, (_, source) in enumerate(templates[:_MOST_IN_A_MESSAGE]):
        room -= len(source)
        if room < 0:
            return max(index, 1)
    return min(len(templates), _MOST_IN_A_MESSAGE)


@cache
def sandboxed_engine(name: str, limits: Limits = DEFAULT_LIMITS) -> SandboxedEngine:
    """Return the sandboxed engine ``jinja``, ``go`` or ``jet``. Raises ValueError for any other name."""
    if name not in ENGINES:
        raise ValueError(f"there is no template engine {name!r}: take one of {', '.join(ENGINES)}")
    return SandboxedEngine(name, limits)
