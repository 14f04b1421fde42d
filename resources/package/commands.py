"""Starts the programs of a package manager: none of them asks questions, and what takes long is narrated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from io import FileIO
from typing import Final

import trio

from reactor import ResourceError
from reactor.resources.package.error_lines import complaint
from reactor.resources.package.progress_output import ProgressOutput
from reactor.resources.process import ENVIRONMENT, Command, Completed, memory_file, run

SIMULATION_PATIENCE: Final = 120.0
"""Seconds that a simulation may take."""


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
