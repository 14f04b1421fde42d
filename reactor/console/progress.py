"""The progress bar of a first convergence, on stderr."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import trio

from reactor.console.writer import Writer
from reactor.engine.events import Blocked, Checked, Converged, Ended, Event, Skipped

if TYPE_CHECKING:
    from rich.progress import Progress

DRAW_AFTER = 0.5
"""Seconds before the bar appears. A shorter run needs no bar, and the import of rich takes 0.1 s."""

INTERVAL = 0.1
"""Seconds between two drawings."""

ERASE_LINE = "\r\x1b[2K"


class ProgressBar:
    """Counts the resources that have a first result. A sink of events; `run` draws the bar.

    The bar is one line, written to ``screen``. ``writer`` erases it before each batch of lines, and the next drawing
    puts it below.
    """

    def __init__(self, total: int, writer: Writer, screen: Writer) -> None:
        self._total = total
        self._seen: set[str] = set()
        self._writer = writer
        self._screen = screen
        self._complete = trio.Event()
        self.erase = ""
        """What erases the bar, if it is on the terminal now."""

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, (Checked, Blocked, Skipped)):
            self._seen.add(event.ref)
            if len(self._seen) == self._total:
                self._complete.set()
        elif isinstance(event, (Converged, Ended)):
            self._complete.set()

    async def run(self) -> None:
        """Draw after `DRAW_AFTER`, until every resource has a result. If the terminal goes away, only the drawing ends."""
        with trio.move_on_after(DRAW_AFTER):
            await self._complete.wait()
            return
        bar = _rich_bar(_Screen(self._screen))
        task = bar.add_task("converging", total=self._total)
        self._show(True)
        try:
            with bar:
                while not self._complete.is_set():
                    bar.update(task, completed=len(self._seen))
                    if self._writer.idle and self._screen.idle:
                        bar.refresh()
                    with trio.move_on_after(INTERVAL):
                        await self._complete.wait()
        finally:
            self._show(False)

    def _show(self, shown: bool) -> None:
        self.erase = ERASE_LINE if shown else ""
        self._writer.prefix = self.erase.encode()


class _Screen(StringIO):
    """The file that rich draws on. Writing to a stopped terminal must not block."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._writer.write(text)
        return len(text)

    def flush(self) -> None:
        self._writer.hurry()


def _rich_bar(screen: StringIO) -> Progress:
    """A bar that starts no thread: a thread beside the event loop would delay the loop."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    console = Console(file=screen)
    return Progress(
        *columns,
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
