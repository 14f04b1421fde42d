"""Pushes to one host: runs `reactor receive` there, sends the request and the bundle, and reads the events."""

from __future__ import annotations

import math
import re
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, cast

import trio

from reactor.fleet.push.bootstrap import MISSING_CODE, Bootstrap
from reactor.fleet.push.inventory_host import Host
from reactor.fleet.push.lines import LIMITS, EventParser, LineLimits, MisbehavedError
from reactor.fleet.push.outcome import OWN_EVENTS, Outcome, Status
from reactor.fleet.push.request import Request
from reactor.fleet.push.ssh import (
    SSH_FAILED,
    Ssh,
    bootstrap_command,
    hint_for,
    login_words,
    receive_command,
)

_PIECE = 64 * 1024
_STDERR = 8 * 1024
_HINT = "hint: "
_LAST_WORDS = 2.0
"""Seconds that ssh may take to end after the host has reported."""
_FIRST_ANSWER = 60.0
"""Seconds that a host may take to answer, in addition to those for connecting."""

_NO_SUDO = r"sudo: (command )?not found|unknown command: sudo"
"""What the shells of the Unix tradition say, and fish."""
_KNOWN = (
    (_NO_SUDO, "sudo is not installed there", "install it, or log in as root"),
    ("sudo: a password is required", None, "let the user run 'sudo -n' without a password there"),
    (
        "sudo: .*must have a tty",
        None,
        "take requiretty from this user in sudoers there: Defaults:USER !requiretty",
    ),
    ("No space left on device|Disk quota exceeded", None, "make room there, such as in the home of the user"),
    ("no (such )?command", None, "install the same version of reactor on both sides"),
)
"""What the host may say before reactor answers: a pattern, what it means if that is not clear, and how to fix it."""

Note = Callable[[str, dict[str, Any]], None]
"""Called with the name of a host and each event of it."""


class Push(NamedTuple):
    """The push to all hosts: the bundle, and the request, to which the facts of each host are added.

    ``timeout`` for one host is in seconds.
    """

    request: Request
    data: bytes
    ssh: Ssh
    become: bool = False
    bootstrap: Bootstrap | None = None
    timeout: float = 1800.0
    first_answer: float = _FIRST_ANSWER
    limits: LineLimits = LIMITS


async def push_to(host: Host, push: Push, note: Note) -> Outcome:
    """Push to one host. Failures of the host or of ssh are outcomes, not errors."""
    began = time.monotonic()
    outcome = Outcome(
        host.name, Status.UNREACHABLE, error=f"it did not end within {push.timeout:g} s", code="R0804"
    )
    with trio.move_on_after(push.timeout):
        command = receive_command(host, become=push.become, sends_own=push.bootstrap is not None)
        outcome = await _Session(host, push, note).run(command)
        if outcome.status is Status.MISSING and push.bootstrap is not None:
            command = bootstrap_command(host, become=push.become)
            outcome = await _Session(host, push, note, push.bootstrap).run(command)
    return outcome._replace(duration=time.monotonic() - began)


class _Session:
    """One ssh process. If the command asks for ``bootstrap``, that is sent first."""

    def __init__(self, host: Host, push: Push, note: Note, bootstrap: Bootstrap | None = None) -> None:
        self._host = host
        self._push = push
        self._note = note
        self._bootstrap = bootstrap
        self._errors = b""
        self._stage = "before it answered"
        self._has_bootstrapped = self._has_answered = False
        self._sending = trio.Lock()  # a host may ask for the next thing before it has read the one before
        self._reported: Outcome | None = None

    async def run(self, command: str) -> Outcome:
        """Run ``command`` on the host; return the outcome."""
        words = self._push.ssh.words(self._host, command)
        pipe = subprocess.PIPE
        try:
            process = await trio.lowlevel.open_process(
                words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            hint = "install it: openssh-client" if isinstance(error, FileNotFoundError) else None
            return self._ended(Status.UNREACHABLE, f"ssh can't run: {error.strerror}", hint, "R0804")
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._collect_errors, process)
                complaint = await self._converse(process)
                with trio.move_on_after(_LAST_WORDS):
                    await process.wait()
                nursery.cancel_scope.cancel()
            return self._outcome(process.returncode, complaint)
        finally:
            await _end(process)

    async def _converse(self, process: trio.Process) -> str | None:
        """Send and read until the host has reported or the connection has ended. Return the error, if any."""
        stdin, stdout = cast(
            "tuple[trio.abc.SendStream, trio.abc.ReceiveStream]", (process.stdin, process.stdout)
        )
        first = self._push.ssh.timeout + self._push.first_answer
        complaint = None
        parser = EventParser(self._push.limits)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._send, stdin, [self._opening()])
            with trio.move_on_after(first) as waiting:
                try:
                    while self._reported is None and (data := await stdout.receive_some()):
                        for record in parser.feed(bytes(data)):
                            waiting.deadline = math.inf
                            self._take(record, nursery, stdin)
                except MisbehavedError as error:
                    complaint = str(error)
            nursery.cancel_scope.cancel()
        return f"it did not answer within {first:g} s" if waiting.cancelled_caught else complaint

    def _opening(self) -> bytes:
        return self._bootstrap.line() if self._bootstrap else self._request()

    def _request(self) -> bytes:
        return self._push.request._replace(facts=self._host.facts()).line()

    def _take(self, record: dict[str, Any], nursery: trio.Nursery, stdin: trio.abc.SendStream) -> None:
        """Handle one event of the host: answer the request for the bundle, and record all other events."""
        kind = record["event"]
        if kind in OWN_EVENTS:
            return
        if kind == "bootstrap" and self._bootstrap is not None and not self._has_bootstrapped:
            self._has_bootstrapped = True
            pieces = [self._bootstrap.data] if record.get("need") is True else []
            self._stage = "while reactor was sent"
            nursery.start_soon(self._send, stdin, [*pieces, self._request()])
        elif kind == "ready" and not self._has_answered:
            self._has_answered = True
            needs = record.get("need") is True
            self._stage = "while the bundle was sent" if needs else "during the run"
            nursery.start_soon(self._send_last, stdin, self._push.data if needs else b"")
        elif kind == "pushed":
            self._reported = Outcome.reported(self._host.name, record)
        else:
            self._stage = "during the run"
            self._note(self._host.name, record)

    async def _send(self, stdin: trio.abc.SendStream, pieces: list[bytes]) -> None:
        """Send while the host reads. If the connection has ended, ignore that: the events show the reason."""
        async with self._sending:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                for data in pieces:
                    for start in range(0, len(data), _PIECE):
                        await stdin.send_all(memoryview(data)[start : start + _PIECE])

    async def _send_last(self, stdin: trio.abc.SendStream, data: bytes) -> None:
        await self._send(stdin, [data])
        await stdin.aclose()

    async def _collect_errors(self, process: trio.Process) -> None:
        async for data in cast("trio.abc.ReceiveStream", process.stderr):
            self._errors = (self._errors + data)[-_STDERR:]

    def _outcome(self, code: int | None, complaint: str | None) -> Outcome:
        if self._reported is not None:
            return self._reported
        lines = self._errors.decode(errors="replace").strip().splitlines()
        last, advice = _last_words(lines)
        if complaint is not None:
            status = Status.FAILED if self._has_answered else Status.UNREACHABLE
            return self._ended(status, complaint, code="R0806" if self._has_answered else "R0804")
        if self._has_answered:
            return self._broken_off(code, last, advice)
        if code == MISSING_CODE:
            return self._missing(last)
        if code == SSH_FAILED:
            hint = hint_for("\n".join(lines), self._host)
            return self._ended(Status.UNREACHABLE, last or "ssh failed", hint, "R0804")
        return self._refused(code, last, advice)

    def _refused(self, code: int | None, last: str, advice: str | None) -> Outcome:
        """The outcome if the login or reactor ended before it answered."""
        if not last:
            words = f"the login ended with exit code {code} before reactor began"
            hint = f"see why this does not end with 0: {login_words(self._host)} true"
            return self._ended(Status.FAILED, words, hint, "R0806")
        known = _known(last)
        if known is not None:
            return self._ended(Status.FAILED, *known, "R0806")
        return self._ended(Status.FAILED, f"reactor receive: {last}", advice, "R0806")

    def _broken_off(self, code: int | None, last: str, advice: str | None) -> Outcome:
        """The outcome if the host has answered, and not reported. An exit code of the host means that it can be reached."""
        is_of_host = code is not None and 0 <= code < SSH_FAILED
        words = f"{'reactor receive ended' if is_of_host else 'the connection broke'} {self._stage}"
        words = f"{words}: {last}" if last else words
        if is_of_host:
            return self._ended(Status.FAILED, words, advice, "R0806")
        return self._ended(Status.UNREACHABLE, words, "push again", "R0804")

    def _missing(self, last: str) -> Outcome:
        """The outcome if the host has no sudo, no Python, or no reactor."""
        if re.search(_NO_SUDO, last, re.IGNORECASE):
            return self._refused(MISSING_CODE, last, None)
        what, hint = "Python", "install Python 3.11 or later there"
        if self._bootstrap is None:
            what = "reactor"
            hint = "install it there: pipx install reactor-converge, or its Debian package; or push with --bootstrap"
        return self._ended(Status.MISSING, f"{what} is not installed there", hint, "R0805")

    def _ended(self, status: Status, error: str, hint: str | None = None, code: str | None = None) -> Outcome:
        return Outcome(self._host.name, status, 0, error, hint, code)


def _known(last: str) -> tuple[str, str] | None:
    """What a known last line of the host means, and how to fix it."""
    for pattern, meaning, hint in _KNOWN:
        if re.search(pattern, last, re.IGNORECASE):
            return meaning or (last if last.startswith("sudo: ") else f"reactor receive: {last}"), hint
    return None


def _last_words(lines: list[str]) -> tuple[str, str | None]:
    """The error that ssh or the host has written last, and the hint of reactor below it."""
    if len(lines) > 1 and lines[-1].startswith(_HINT):
        return lines[-2].strip(), lines[-1].removeprefix(_HINT).strip()
    return lines[-1].strip() if lines else "", None


async def _end(process: trio.Process) -> None:
    """Terminate ssh if it still runs, and close our ends of its pipes."""
    with trio.CancelScope(shield=True):
        if process.poll() is None:
            process.kill()
        await process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                await stream.aclose()
