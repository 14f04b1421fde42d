"""One process that renders templates, as its parent has it: started, talked to with a deadline, ended.

The engines' own limits end nearly all that is too much, with its place. What they can't end, as a single call into C
that takes minutes, ends with the process, and costs nothing but that one template.
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
"""By so much later than the engine itself we end a template: the engine knows the place."""
_MOST_WORDS: Final = 4 << 20
_MOST_TEXT: Final = 80 << 20
_ENVIRONMENT: Final = ("LANG", "LC_ALL", "LC_TIME", "TZ")
_HINT: Final = "look for huge numbers, widths, or lists nested in each other; a template has to be small work"


class WorkerError(Exception):
    """The process that renders templates can't be started."""


class Rendered(NamedTuple):
    """What one template made. ``used`` and ``written`` are of a template of a tree.

    ``missing`` tells where values were missing, if that was no error.
    """

    text: str
    used: frozenset[str] = frozenset()
    written: Mapping[str, str] = MappingProxyType({})
    missing: tuple[TemplateError, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """Templates to render with the same names, functions and limits: names for errors, and sources."""

    engine: str
    limits: Limits
    delimiters: Delimiters | None
    answers: HostResponses
    load: Loader
    is_tree: bool
    templates: Sequence[tuple[str, str]]
    received: Callable[[Rendered], None] = field(default=lambda _: None)
    """Told of each that is rendered, before the next one asks anything."""
    strict: bool | None = None
    """Whether a missing value is an error; None for what the language has for it."""


class WorkerProcess:
    """The process. Any thread may use it, one at a time. Raises WorkerError when it can't be started."""

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
            raise WorkerError(str(process.strerror)) from process
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
            raise WorkerError("it does not say that it is ready")

    def knows(self, answers: HostResponses) -> bool:
        """Whether it needs no introduction of these."""
        return self._known is answers

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.is_alive = False
        if self.owner == os.getpid():  # in a child of ours, it is not ours
            self._process.kill()
        self._channel.close()

    def wait(self) -> None:
        """Wait until the process that was ended has gone."""
        self._reaping.join(_REAPED_SECONDS)

    def render(self, work: RenderRequest) -> int:
        """Render the templates of ``work`` in their order; return how many it rendered before it wanted to be replaced.

        Raises TemplateError for the first that can't be rendered, and what a function raises that is no mistake.
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
        """What became of the template ``name``; its questions are answered meanwhile."""
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
                except Exception as error:  # noqa: BLE001 - it is raised again once the rendering has ended
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
    """Start the process and wait for its end, in one thread: the process ends with the thread that has started it."""
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
