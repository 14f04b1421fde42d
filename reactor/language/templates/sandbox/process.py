"""One worker process on the parent's side: starts it, sends it work with a deadline, and kills it.

The limits of the engines stop nearly every expensive template, and report the place. They can't stop some, such as one
call into C that takes minutes. Then the parent kills the process, and only that template fails.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from reactor.language.errors import LimitFault, TemplateError, TemplateSourceError
from reactor.language.templates.budget import Limits
from reactor.language.templates.engine import Delimiters, Loader
from reactor.language.templates.sandbox.channel import Channel, ChannelError, Message
from reactor.language.templates.sandbox.responses import HostResponses, plain

_READY_SECONDS: Final = 30.0
_REAPED_SECONDS: Final = 1.0
_GRACE_SECONDS: Final = 0.25
"""The extra seconds that the parent waits for the engine's own error, which has the place."""
_MOST_WORDS: Final = 4 << 20
_MOST_TEXT: Final = 80 << 20
_ENVIRONMENT: Final = ("LANG", "LC_ALL", "LC_TIME", "TZ")
_HINT: Final = "look for huge numbers, widths or nested lists, or simplify the template"


class WorkerError(Exception):
    """A worker process can't be started."""


class Rendered(NamedTuple):
    """The result of one template. Only templates of a tree have ``used`` and ``written``.

    ``missing`` has the warnings about missing values.
    """

    text: str
    used: frozenset[str] = frozenset()
    written: Mapping[str, str] = MappingProxyType({})
    missing: tuple[TemplateError, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """Templates (pairs of a name and a source) to render with the same context, functions and limits."""

    engine: str
    limits: Limits
    delimiters: Delimiters | None
    answers: HostResponses
    load: Loader
    is_tree: bool
    templates: Sequence[tuple[str, str]]
    received: Callable[[Rendered], None] = field(default=lambda _: None)
    """Called with each result, before the next template sends a request."""
    strict: bool | None = None
    """Whether a missing value is an error. None: it renders as the language defines."""


class WorkerProcess:
    """A worker process. Any thread may use it, but only one at a time. Raises WorkerError if it can't be started."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.is_alive = True
        self._known: HostResponses | None = None
        ours, theirs = socket.socketpair()
        with theirs:
            started: list[subprocess.Popen[bytes] | OSError] = []
            event = threading.Event()
            self._reaping = threading.Thread(
                target=_start_and_reap, args=(theirs.fileno(), started, event), daemon=True
            )
            try:
                self._reaping.start()
            except RuntimeError as error:
                ours.close()
                raise WorkerError("no thread can be started, the limit of processes is reached") from error
            event.wait()
        self._channel = Channel(ours, most_words=_MOST_WORDS, most_text=_MOST_TEXT)
        process = started[0]
        if isinstance(process, OSError):
            self._channel.close()
            place = f"{process.filename}: " if process.filename else ""
            raise WorkerError(f"{place}{process.strerror}") from process
        self._process = process
        self._expect_ready()

    def _expect_ready(self) -> None:
        try:
            message, _ = self._channel.receive(deadline=time.monotonic() + _READY_SECONDS)
        except (ChannelError, TimeoutError) as error:
            self.end()
            raise WorkerError("it does not start") from error
        if "ready" not in message:
            self.end()
            raise WorkerError(message.get("lacks", "it does not say that it is ready"))

    @property
    def has_exited(self) -> bool:
        """Whether the process has exited."""
        return self._process.returncode is not None

    def knows(self, answers: HostResponses) -> bool:
        """Whether the process already has the context of ``answers``."""
        return self._known is answers

    def end(self) -> None:
        """Kill the process."""
        self.is_alive = False
        if self.owner == os.getpid():  # in a forked child, the process belongs to the parent
            self._process.kill()
        self._channel.close()

    def wait(self) -> None:
        """Wait until the killed process has exited."""
        self._reaping.join(_REAPED_SECONDS)

    def render(self, work: RenderRequest) -> int:
        """Render the templates of ``work`` in order.

        Return how many were rendered before the process had to be replaced.

        Raises TemplateError for the first that fails, and exceptions of functions that are not `MISTAKES`.
        """
        done = False
        try:
            self._introduce(work.answers)
            count = self._render(work)
            done = True
        except TemplateError:
            done = True
            raise
        except TimeoutError as error:
            raise TemplateError(
                "the template takes too long", work.templates[0][0], 1, 1, _HINT, code=LimitFault.code
            ) from error
        except (ChannelError, TypeError, ValueError, RecursionError) as error:
            words = f"the process that renders templates has failed: {error}"
            raise TemplateError(words, work.templates[0][0], 1, 1) from error
        finally:
            if not done:
                self.end()
        return count

    def _introduce(self, answers: HostResponses) -> None:
        if self._known is not answers:
            deadline = time.monotonic() + _READY_SECONDS
            self._channel.send(answers.introduction(), deadline=deadline, default=plain)
            self._channel.receive(deadline=deadline)
            self._known = answers

    def _render(self, work: RenderRequest) -> int:
        limits = work.limits
        request = {
            "engine": work.engine,
            "limits": [limits.seconds, limits.steps, limits.characters],
            "delimiters": work.delimiters,
            "tree": work.is_tree,
            "strict": work.strict,
            "names": [name for name, _ in work.templates],
        }
        self._channel.send(request, [source for _, source in work.templates], deadline=_deadline(limits))
        for index, (name, _) in enumerate(work.templates):
            message, texts = self._result(work, name)
            if "failed" in message:
                self.is_alive = "last" not in message
                raise _error(message)
            if not texts:
                raise ChannelError("it answers without a text")
            written = dict(zip(message.get("written", ()), texts[1:], strict=True))
            missing = tuple(_spelled_out(each) for each in message.get("missing", ()))
            work.received(Rendered(texts[0], frozenset(message.get("used", ())), written, missing))
            if "last" in message:
                self.end()
                return index + 1
        return len(work.templates)

    def _result(self, work: RenderRequest, name: str) -> Message:
        """Return the result of the template ``name``. Respond to its requests until then."""
        deadline = _deadline(work.limits)
        unexpected: BaseException | None = None
        while True:
            try:
                message, texts = self._channel.receive(deadline=deadline)
                if "aborted" in message and unexpected is not None:
                    raise unexpected
                if "made" in message or "failed" in message:
                    return message, texts
                try:
                    answer, beside = work.answers.answer(message, work.load)
                except Exception as error:  # noqa: BLE001 - it is raised again when the rendering has ended
                    unexpected, answer, beside = error, {"aborted": True}, []
                self._channel.send(answer, beside, deadline=deadline, default=plain)
            except TimeoutError as error:
                self.end()
                words = f"the template takes longer than {work.limits.seconds:g} s"
                raise TemplateError(words, name, 1, 1, _HINT, code=LimitFault.code) from error
            except ChannelError as error:
                words = f"the template ended the process that renders it: {self._how_it_ended()}"
                self.end()
                raise TemplateError(words, name, 1, 1, _HINT, code=LimitFault.code) from error

    def _how_it_ended(self) -> str:
        deadline = time.monotonic() + 1.0
        while self._process.returncode is None and time.monotonic() < deadline:
            time.sleep(0.001)
        code = self._process.returncode
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _deadline(limits: Limits) -> float:
    return time.monotonic() + limits.seconds + _GRACE_SECONDS


def _error(message: dict[str, Any]) -> TemplateError:
    return _spelled_out(message["failed"], TemplateSourceError if message["is_source"] else TemplateError)


def _spelled_out(error: list[Any], kind: type[TemplateError] = TemplateError) -> TemplateError:
    words, name, line, column, hint, code = error
    shown = None if hint is None else str(hint)
    return kind(str(words), str(name), int(line), int(column), shown, code=str(code))


def _start_and_reap(
    descriptor: int, started: list[subprocess.Popen[bytes] | OSError], event: threading.Event
) -> None:
    """Start the process and wait for its exit, both in one thread.

    The kernel kills the process when the thread that started it ends.
    """
    command = [
        sys.executable,
        "-I",
        "-m",
        "reactor.language.templates.sandbox.worker",
        str(descriptor),
        str(os.getpid()),
    ]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            pass_fds=[descriptor],
            start_new_session=True,
        )
    except OSError as error:
        started.append(error)
        event.set()
        return
    started.append(process)
    event.set()
    process.wait()
