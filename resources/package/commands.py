"""Runs the programs of a package manager non-interactively, and reports progress."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from io import FileIO
from typing import Final

import trio

from reactor import ResourceError, emit_note, emit_output
from reactor.resources.package.error_lines import error_lines
from reactor.resources.package.locks import waiting_for
from reactor.resources.process import ENVIRONMENT, Command, Completed, memory_file, run
from reactor.resources.process.output import TAIL_BYTES

FIRST: Final = 5.0
"""Seconds until the first progress line; each later wait is twice as long as the one before."""
LONGEST: Final = 60.0
"""The longest time between two progress lines, in seconds."""
_WAITS: Final = re.compile(r"Waiting for .*\b(?:process|pid) (\d+)")
"""The message of apt and dnf about a lock that another process holds."""
_STEP: Final = re.compile(
    r"(?:Preparing to unpack|Unpacking|Setting up|Removing|Purging configuration files for|Processing triggers for) "
    r"|\s+Running scriptlet: "
)
"""The beginning of a line in which dpkg or dnf names the package that it works on. Output of its scripts may follow."""
_PERCENT: Final = re.compile(rb"^(?:dl|pm)status:[^:]*:(\d+)", re.MULTILINE)
"""The progress lines that apt writes to ``APT::Status-Fd``: download or change, and percentage."""
SIMULATION_TIMEOUT: Final = 120.0
"""The longest time of a simulation, in seconds."""


class ProgressOutput:
    """Reports the progress of one run of ``program`` by its latest output line; ``on_line`` gets every line."""

    def __init__(self, program: str, on_line: Callable[[str], None] | None = None) -> None:
        self._program = program
        self._on_line = on_line
        self._step = ""
        self._latest = ""
        self._holder: int | None = None
        self._began = trio.current_time()

    def feed(self, line: str) -> None:
        """Take a line of output. Reports a line about waiting for another process at once."""
        if self._on_line is not None:
            self._on_line(line)
        if waits := _WAITS.match(line):
            if (holder := int(waits[1])) != self._holder:
                self._holder = holder
                emit_output(waiting_for(holder))
        elif words := " ".join(line.split()):
            is_step = _STEP.match(line) is not None
            self._step = f" ({words})" if is_step else self._step
            self._latest = f": {words}" if is_step else f": {words}{self._step}"

    async def report(self, progress: FileIO | None) -> None:
        """Report the latest line, and the percentage in ``progress``, at growing intervals, until cancelled."""
        wait = FIRST
        while True:
            await trio.sleep(wait)
            emit_output(f"{self._program} has been at work for {self.so_far(progress)}")
            wait = min(2 * wait, LONGEST)

    def so_far(self, progress: FileIO | None) -> str:
        """The time that it has taken, the percentage in ``progress``, and the latest line."""
        taken = f"{trio.current_time() - self._began:.0f}s"
        return f"{taken}{_percent(progress) if progress else ''}{self._latest}"


def _percent(progress: FileIO) -> str:
    end = os.fstat(progress.fileno()).st_size
    reported = _PERCENT.findall(os.pread(progress.fileno(), TAIL_BYTES, max(0, end - TAIL_BYTES)))
    return f" ({reported[-1].decode()}%)" if reported else ""


class PackageCommands:
    """Runs programs with the usual environment variables and those in ``environment``."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {**ENVIRONMENT, **environment}

    async def run(self, *arguments: str, status: str = "", after_a_cut: str = "") -> Completed:
        """Run a program to its end, with any exit code.

        ``status``: the option, without the final number, that makes it write its progress to the descriptor of that
        number. ``after_a_cut``: what to do after a timeout has ended it.
        """
        return await self._run(arguments, status=status, after_a_cut=after_a_cut)

    async def read(self, *arguments: str, also_well: int = 0) -> str:
        """All output lines of a program, including warnings. Raises ResourceError when it fails.

        ``also_well``: another exit code that means success.
        """
        lines: list[str] = []
        completed = await self._run(arguments, lines.append)
        if completed.exit_code not in (0, also_well):
            raise ResourceError(
                f"{arguments[0]} failed with exit code {completed.exit_code}{error_lines(completed)}"
            )
        return "\n".join(lines)

    async def simulate(self, *arguments: str) -> tuple[int, str]:
        """The exit code and all output lines of a program that changes nothing. Raises ResourceError at a timeout."""
        lines: list[str] = []
        completed = await self._run(arguments, lines.append, time_limit=SIMULATION_TIMEOUT)
        return completed.exit_code, "\n".join(lines)

    async def _run(
        self,
        arguments: Sequence[str],
        on_line: Callable[[str], None] | None = None,
        status: str = "",
        time_limit: float = math.inf,
        after_a_cut: str = "",
    ) -> Completed:
        output_watch = ProgressOutput(arguments[0], on_line)
        failure: ResourceError | None = None
        completed: Completed | None = None
        with memory_file() if status else nullcontext() as progress:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(output_watch.report, progress)
                try:
                    completed = await run(
                        self._command(arguments, status, progress, time_limit), output_watch.feed
                    )
                except ResourceError as error:  # a nursery would wrap it
                    words = f"{arguments[0]}: {error.message}"
                    failure = ResourceError(words, error.hint, missing=error.missing)
                finally:
                    if completed is None and failure is None:
                        words = output_watch.so_far(progress)
                        emit_note(f"{arguments[0]} was ended after {words}{after_a_cut}")
                nursery.cancel_scope.cancel()
        if completed is None:
            raise failure or AssertionError("a command ends in one way or another")
        return completed

    def _command(
        self, arguments: Sequence[str], status: str, progress: FileIO | None, time_limit: float
    ) -> Command:
        """The command to run. Without a timeout, it survives this process: half a transaction is worse than none."""
        if progress is None:
            return Command(arguments, "/", self._environment, time_limit, is_protected=math.isinf(time_limit))
        program, *others = arguments
        descriptor = progress.fileno()
        reported = (program, f"{status}{descriptor}", *others)
        return Command(reported, "/", self._environment, inherited=(descriptor,), is_protected=True)
