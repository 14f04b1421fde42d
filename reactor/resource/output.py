"""How a running check tells people what it is doing: lines of output, progress notes."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

speaker: ContextVar[Callable[[str], None] | None] = ContextVar("speaker", default=None)
"""Set by the engine for the task that runs a check."""

noter: ContextVar[Callable[[str], None] | None] = ContextVar("noter", default=None)
"""As `speaker`, for what is kept."""


def emit_output(line: str) -> None:
    """Report one line of output of the running check; outside of a check it is dropped."""
    if (speak := speaker.get()) is not None:
        speak(line)


def emit_note(line: str) -> None:
    """Say something that stays true of the resource of this check: it is kept in the journal, for `reactor why`."""
    if (keep := noter.get()) is not None:
        keep(line)


def mute() -> None:
    """Whatever is said from now on goes nowhere: the check that it belongs to has ended."""
    speaker.set(None)
    noter.set(None)
