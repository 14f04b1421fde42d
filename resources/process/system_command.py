"""Runs a program of the system that a kind makes its changes with."""

from __future__ import annotations

import os

from reactor import ResourceError
from reactor.resources.process.command import ENVIRONMENT, Command, run
from reactor.resources.process.output import output_tail


async def perform(*arguments: str, input: bytes = b"") -> None:  # noqa: A002 - as subprocess.run calls it
    """Run a program that must succeed; it reads ``input``. Raises ResourceError with its last words otherwise."""
    completed = await run(Command(arguments, "/", ENVIRONMENT, input=input))
    if completed.exit_code != 0:
        words = output_tail(completed.stdout, completed.stderr)
        raise ResourceError(
            f"{arguments[0]} failed with exit code {completed.exit_code}{words}", missing_rights()
        )


def missing_rights() -> str | None:
    """The hint for a program of the system that has failed for somebody other than root."""
    return None if os.geteuid() == 0 else "run as root"
