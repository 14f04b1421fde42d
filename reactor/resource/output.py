"""Lets a running check report what it is doing: lines of output, and notes."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

output_sink: ContextVar[Callable[[str], None] | None] = ContextVar("output_sink", default=None)
"""Receives the output. Set by the engine for the task that runs a check."""

noter: ContextVar[Callable[[str], None] | None] = ContextVar("noter", default=None)
"""As `output_sink`, for notes, which are stored."""


def emit_output(line: str) -> None:
    """Report one line of output of the running check. Outside a check, the line is dropped."""
    if (emit := output_sink.get()) is not None:
        emit(line)


def emit_note(line: str) -> None:
    """Report a lasting fact about the resource of this check. It is stored in the journal, for `reactor why`."""
    if (keep := noter.get()) is not None:
        keep(line)


def mute() -> None:
    """Drop all further output and notes of this task: its check has ended."""
    output_sink.set(None)
    noter.set(None)
