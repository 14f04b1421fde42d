"""Shows one run: its events, the progress bar and the summary."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import trio

from reactor.console.journald import WARNING_PREFIX, Journald, JournaldSink, leads_to_journal
from reactor.console.run_header import warning_record
from reactor.console.style import Style, wants_colour
from reactor.console.summary import plain_summary, table_summary
from reactor.console.text import TextSink
from reactor.console.writer import Writer
from reactor.engine.events import Ended, Event
from reactor.resource.escaping import escaped
from reactor.resource.redaction import redact

if TYPE_CHECKING:
    from reactor.console.progress import ProgressBar

Format = Literal["text", "json"]

STDERR = 2


class Display:
    """The display of one run: a sink of its events. `run` is a task beside the engine that writes the output."""

    def __init__(self, form: Format, *, resources: int, continuous: bool) -> None:
        self._errors = Writer(STDERR)
        # A run that ends may wait for a paused reader; a run that repairs drift may not.
        lost_line = (_lost_record if form == "json" else _lost_line) if continuous else None
        self._writer = Writer(sys.stdout.fileno(), self.notify, lost_line)
        self._style = Style(wants_colour(sys.stdout))
        self._text: TextSink | None = None
        self._journald: Journald | None = None
        main = self._main_sink(form, continuous=continuous)
        self._bar = self._progress_bar(resources) if self._text and _shows_bars() else None
        self._sinks = (main, self._bar) if self._bar else (main,)

    def _main_sink(self, form: Format, *, continuous: bool) -> Callable[[Event], None]:
        if form == "json":
            from reactor.console.jsonlines import JsonSink

            return JsonSink(self._writer.write)
        if leads_to_journal(sys.stdout.fileno()):
            self._journald = Journald(self._writer.write)
            entries = JournaldSink(self._journald, continuous=continuous)
            self._text = entries.text
            return entries
        self._text = TextSink(self._print, self._style, continuous=continuous, aligned=sys.stdout.isatty())
        return self._text

    def _progress_bar(self, resources: int) -> ProgressBar:
        from reactor.console.progress import ProgressBar

        return ProgressBar(resources, self._writer, self._errors)

    def __call__(self, event: Event) -> None:
        """Show one event."""
        for sink in self._sinks:
            sink(event)

    def show(self, message: str, record: dict[str, Any]) -> None:
        """Show a message that is not an event, in order with the events: ``message`` as text, ``record`` as JSON."""
        if self._text:
            self._print("".join(f"{escaped(part)}\n" for part in message.splitlines()))
        else:
            self._writer.write(_line(record))

    def notify(self, message: str) -> None:
        """Show a message about the program itself on stderr, if stderr is still open."""
        erase = self._bar.erase if self._bar else ""
        prefix = WARNING_PREFIX if leads_to_journal(STDERR) else f"{erase}reactor: "
        self._errors.write(f"{prefix}{escaped(redact(message))}\n")
        self._errors.hurry()

    def warn(self, message: str) -> None:
        """Show a warning about the program itself, as text and as JSON."""
        self.announce(message, warning_record(message))

    def announce(self, message: str, record: dict[str, Any]) -> None:
        """Show a message about the program itself: ``message`` as text, ``record`` as JSON."""
        self.notify(message)
        if not self._text:
            self._writer.write(_line(record))

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

    def summarize(self, ended: Ended) -> None:
        """Show the summary. For programs, the last event is the summary."""
        if self._text:
            self._print(self._summary(ended, self._text))

    def flush(self) -> None:
        """Write all output that still waits."""
        if self._journald:
            self._journald.finish()
        self._writer.flush()
        self._errors.flush()

    def _print(self, text: str) -> None:
        self._writer.write(redact(text))

    def _summary(self, ended: Ended, text: TextSink) -> str:
        if sys.stdout.isatty():
            width = shutil.get_terminal_size().columns
            return table_summary(ended, text.open_problems, width, coloured=self._style.coloured)
        return plain_summary(ended, text.open_problems, self._style)


def _lost_line(count: int) -> str:
    return f"{count} lines are lost: the output was not read for too long\n"


def _lost_record(count: int) -> str:
    return _line(warning_record(_lost_line(count).rstrip()))


def _line(record: dict[str, Any]) -> str:
    from reactor.console.jsonlines import line

    return line(record)


def _shows_bars() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
