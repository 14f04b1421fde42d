"""Starts the programs of a package manager: none of them asks questions, and what takes long is narrated."""

from __future__ import annotations

import fcntl
import math
import os
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from io import FileIO
from typing import Final

import trio

from reactor import ResourceError, emit_output
from reactor.resources.package.error_lines import complaint
from reactor.resources.process import ENVIRONMENT, Command, Completed, memory_file, run
from reactor.resources.process.output import TAIL_BYTES

PATIENCE = 0.2
"""Seconds between two looks: the kernel does not tell when a lock becomes free, without taking it."""
_FLOCK = "hhqqi0q"
_WHOLE_FILE = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
FIRST: Final = 5.0
"""Seconds after which something is said; each wait from then on is twice as long as the one before."""
LONGEST: Final = 60.0
"""Seconds between two lines at most."""
_WAITS: Final = re.compile(r"Waiting for .*\b(?:process|pid) (\d+)")
"""How apt and dnf tell of a lock that another process holds."""
_PERCENT: Final = re.compile(rb"^(?:dl|pm)status:[^:]*:(\d+)", re.MULTILINE)
"""How the lines begin that apt writes where ``APT::Status-Fd`` says: it fetches, or changes something, and how far."""
SIMULATION_PATIENCE: Final = 120.0
"""Seconds that a simulation may take."""


async def released(path: str) -> None:
    """Wait until no other process holds the lock on the file at ``path``, and say so when that takes a while."""
    told = None
    while (holder := _holder(path)) is not None:
        if holder != told:
            told = holder
            emit_output(f"{waiting_for(holder)} (it holds {path})")
        await trio.sleep(PATIENCE)


def waiting_for(holder: int) -> str:
    """What to say when that process has to end first."""
    return f"waiting for {_name(holder)} (process {holder}) to be done, however long that takes"


def _holder(path: str) -> int | None:
    """The process that holds the lock; None when none does, or when that can't be told."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # no such file: nobody ever locked it. Not ours to open: then nothing is changed either
        return None
    try:
        kind, _, _, _, holder = struct.unpack(_FLOCK, fcntl.fcntl(fd, fcntl.F_GETLK, _WHOLE_FILE))
    finally:
        os.close(fd)
    return None if kind == fcntl.F_UNLCK else holder


def _name(process: int) -> str:
    try:
        with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:  # of another PID namespace, or gone
        return "another program"


class ProgressOutput:
    """One run of ``program``. Of all that it says, only the latest counts; ``tell`` is given every line."""

    def __init__(self, program: str, tell: Callable[[str], None] | None = None) -> None:
        self._program = program
        self._tell = tell
        self._latest = ""
        self._holder: int | None = None

    def hear(self, line: str) -> None:
        """Take a line that the program wrote. That it waits for another is said at once."""
        if self._tell is not None:
            self._tell(line)
        if waits := _WAITS.match(line):
            if (holder := int(waits[1])) != self._holder:
                self._holder = holder
                emit_output(waiting_for(holder))
        elif words := " ".join(line.split()):
            self._latest = f": {words}"

    async def speak(self, progress: FileIO | None) -> None:
        """Say now and then what the program does, and how far it says in ``progress`` that it is, until cancelled."""
        began = trio.current_time()
        wait = FIRST
        while True:
            await trio.sleep(wait)
            taken = f"{trio.current_time() - began:.0f}s"
            emit_output(
                f"{self._program} has been at work for {taken}{_percent(progress) if progress else ''}{self._latest}"
            )
            wait = min(2 * wait, LONGEST)


def _percent(progress: FileIO) -> str:
    end = os.fstat(progress.fileno()).st_size
    told = _PERCENT.findall(os.pread(progress.fileno(), TAIL_BYTES, max(0, end - TAIL_BYTES)))
    return f" ({told[-1].decode()}%)" if told else ""


class PackageCommands:
    """``environment`` has variables beside the usual ones."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {**ENVIRONMENT, **environment}

    async def run(self, *arguments: str, status: str = "") -> Completed:
        """Run a program to its end, however that is.

        ``status``: the option that has it write its progress to the descriptor whose number ends that.
        """
        return await self._run(arguments, status=status)

    async def read(self, *arguments: str, also_well: int = 0) -> str:
        """All lines that a program writes, warnings among them. Raises ResourceError when it fails.

        ``also_well``: an exit code that means success as 0 does.
        """
        lines: list[str] = []
        completed = await self._run(arguments, lines.append)
        if completed.exit_code not in (0, also_well):
            raise ResourceError(
                f"{arguments[0]} failed with exit code {completed.exit_code}{complaint(completed)}"
            )
        return "\n".join(lines)

    async def simulate(self, *arguments: str) -> tuple[int, str]:
        """The exit code of a program that changes nothing, and all lines it writes. Raises ResourceError if it takes long."""
        lines: list[str] = []
        completed = await self._run(arguments, lines.append, patience=SIMULATION_PATIENCE)
        return completed.exit_code, "\n".join(lines)

    async def _run(
        self,
        arguments: Sequence[str],
        tell: Callable[[str], None] | None = None,
        status: str = "",
        patience: float = math.inf,
    ) -> Completed:
        output_watch = ProgressOutput(arguments[0], tell)
        failure: ResourceError | None = None
        with memory_file() if status else nullcontext() as progress:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(output_watch.speak, progress)
                try:
                    completed = await run(
                        self._command(arguments, status, progress, patience), output_watch.hear
                    )
                except ResourceError as error:  # a nursery would wrap it
                    failure = error
                nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return completed

    def _command(
        self, arguments: Sequence[str], status: str, progress: FileIO | None, patience: float
    ) -> Command:
        """It comes to its end also if we don't: half a transaction is worse than none."""
        if progress is None:
            return Command(arguments, "/", self._environment, patience, left_alone=math.isinf(patience))
        program, *others = arguments
        descriptor = progress.fileno()
        told = (program, f"{status}{descriptor}", *others)
        return Command(told, "/", self._environment, inherited=(descriptor,), left_alone=True)
