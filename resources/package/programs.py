"""Starts the programs of a package manager: none of them asks questions, and what they answer is read whole."""

from __future__ import annotations

from collections.abc import Mapping

from reactor import ResourceError
from resources.package.complaints import complaint
from resources.process import ENVIRONMENT, Command, Completed, run


class Programs:
    """``environment`` has variables beside the usual ones."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {**ENVIRONMENT, **environment}

    async def run(self, *arguments: str) -> Completed:
        """Run a program to its end, however that is."""
        return await run(Command(arguments, "/", self._environment))

    async def read(self, *arguments: str, also_well: int = 0) -> str:
        """All lines that a program writes, warnings among them. Raises ResourceError when it fails.

        ``also_well``: an exit code that means success as 0 does.
        """
        lines: list[str] = []
        completed = await run(Command(arguments, "/", self._environment), lines.append)
        if completed.exit_code not in (0, also_well):
            raise ResourceError(
                f"{arguments[0]} failed with exit code {completed.exit_code}{complaint(completed)}"
            )
        return "\n".join(lines)
