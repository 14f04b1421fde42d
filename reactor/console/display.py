"""Shows one run: its events, the progress bar and the summary."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import trio

from reactor.console.run_header import warning_record
from reactor.console.style import WARNING_PREFIX, Style, leads_to_journal, wants_colour
from reactor.console.summary import plain_summary, table_summary
from reactor.console.text import TextSink
from reactor.console.writer import Writer
from reactor.engine.events import Ended, Event
from reactor.named_tuple import NamedTuple
from reactor.resource.escaping import escaped
from reactor.resource.redaction import redact

if TYPE_CHECKING:
    from reactor.console.journald import Journald
    from reactor.console.progress import ProgressBar

Format = Literal["text", "json"]

STDERR = 2


class Look(NamedTuple):
    """The output that a run is shown on: whether it is a terminal, in colour, and how many columns it has."""

    is_terminal: bool
    coloured: bool
    width: int


class RunText:
    """One run as text or lines of JSON: a sink of its events.

    ``write`` takes what goes to stdout, and ``notify`` messages about the program itself.
    """

    def __init__(
        self,
        form: Format,
        look: Look,
        write: Callable[[str], None],
        notify: Callable[[str], None],
        *,
        continuous: bool,
    ) -> None:
        self._write = write
        self._notify = notify
        self._look = look
        self._style = Style(look.coloured)
        self._text: TextSink | None = None
        self._sinks: tuple[Callable[[Event], None], ...]
        if form == "json":
            from reactor.console.jsonlines import JsonSink

            self._sinks = (JsonSink(write),)
        else:
            self._text = TextSink(self._print, self._style, continuous=continuous, aligned=look.is_terminal)
            self._sinks = (self._text,)

    def __call__(self, event: Event) -> None:
        """Show one event."""
        for sink in self._sinks:
            sink(event)

    def show(self, message: str, record: dict[str, Any]) -> None:
        """Show a message that is not an event, in order with the events: ``message`` as text, ``record`` as JSON."""
        if self._text:
            self._print("".join(f"{escaped(part)}\n" for part in message.splitlines()))
        else:
            self._write(_line(record))

    def warn(self, message: str) -> None:
        """Show a warning about the program itself, as text and as JSON."""
        self.announce(message, warning_record(message))

    def announce(self, message: str, record: dict[str, Any]) -> None:
        """Show a message about the program itself: ``message`` as text, ``record`` as JSON."""
        self._notify(message)
        if not self._text:
            self._write(_line(record))

    def summarize(self, ended: Ended) -> None:
        """Show the summary. For programs, the last event is the summary."""
        if self._text:
            self._print(self._summary(ended, self._text))

    def _print(self, text: str) -> None:
        self._write(redact(text))

    def _summary(self, ended: Ended, text: TextSink) -> str:
        if self._look.is_terminal:
            return table_summary(ended, text.open_problems, self._width(), coloured=self._look.coloured)
        return plain_summary(ended, text.open_problems, self._style)

    def _width(self) -> int:
        return self._look.width


def program_message(message: str) -> str:
    """A message about the program itself, as a line for stderr."""
    return f"reactor: {escaped(redact(message))}\n"


class Display(RunText):
    """The display of the run of this process. `run` is a task beside the engine that writes the output."""

    def __init__(self, form: Format, *, resources: int, continuous: bool) -> None:
        self.has_notified = False
        """Whether there was any message about the program itself."""
        self._errors = Writer(STDERR)
        # A run that ends may wait for a paused reader; a run that repairs drift may not.
        lost_line = (_lost_record if form == "json" else _lost_line) if continuous else None
        self._writer = Writer(sys.stdout.fileno(), self.notify, lost_line)
        look = Look(sys.stdout.isatty(), wants_colour(sys.stdout), 0)
        super().__init__(form, look, self._writer.write, self.notify, continuous=continuous)
        self._journald: Journald | None = None
        if self._text and leads_to_journal(sys.stdout.fileno()):
            from reactor.console.journald import Journald, JournaldSink

            self._journald = Journald(self._writer.write)
            entries = JournaldSink(self._journald, continuous=continuous)
            self._text = entries.text
            self._sinks = (entries,)
        self._bar = self._progress_bar(resources) if self._text and _shows_bars() else None
        if self._bar:
            self._sinks = (*self._sinks, self._bar)

    def _progress_bar(self, resources: int) -> ProgressBar:
        from reactor.console.progress import ProgressBar

        return ProgressBar(resources, self._writer, self._errors)

    def notify(self, message: str) -> None:
        """Show a message about the program itself on stderr, if stderr is still open."""
        self.has_notified = True
        erase = self._bar.erase if self._bar else ""
        prefix = WARNING_PREFIX if leads_to_journal(STDERR) else f"{erase}reactor: "
        self._errors.write(f"{prefix}{escaped(redact(message))}\n")
        self._errors.hurry()

    @property
    def reader_gone(self) -> trio.Event:
        """Set when the reader of the output is gone."""
        return self._writer.broken

    async def run(self) -> None:
        """Write and draw, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._writer.run)
            nursery.start_soon(self._errors.run)
            if self._journald:
                nursery.start_soon(self._journald.run)
            if self._bar:
                nursery.start_soon(self._bar.run)

    def flush(self) -> None:
        """Write all output that still waits."""
        if self._journald:
            self._journald.finish()
        self._writer.flush()
        self._errors.flush()

    def _width(self) -> int:
        from shutil import get_terminal_size

        return get_terminal_size().columns


def _lost_line(count: int) -> str:
    return f"{count} lines are lost: the output was not read for too long\n"


def _lost_record(count: int) -> str:
    return _line(warning_record(_lost_line(count).rstrip()))


def _line(record: dict[str, Any]) -> str:
    from reactor.console.jsonlines import line

    return line(record)


def _shows_bars() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
