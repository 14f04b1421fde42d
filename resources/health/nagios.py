"""Health checks by a command with the exit codes of Nagios plugins."""

from __future__ import annotations

import posixpath
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from reactor import HealthResult, HealthStatus
from reactor.resources.process import ENVIRONMENT, Command, output_tail, run, split_words

_STATUS: Final = {0: HealthStatus.OK, 1: HealthStatus.WARNING, 2: HealthStatus.CRITICAL}
"""https://www.monitoring-plugins.org/doc/guidelines.html, "Plugin Return Codes"."""


def _check_command(text: str) -> str:
    if "\0" in text:
        raise ValueError("a command can't hold a NUL character")
    words = split_words(text)
    if not words or not words[0]:
        raise ValueError("the command is empty")
    return text


class Nagios:
    """Runs the command without a shell; its exit code is the status."""

    takes = Annotated[str, Field(strict=True), AfterValidator(_check_command)]

    def describe(self, value: str) -> str:
        """The command without its directory."""
        program, gap, rest = value.strip().partition(" ")
        return f"{posixpath.basename(program)}{gap}{rest}"

    async def examine(self, value: str) -> HealthResult:
        """Run the command. The exit code is the status, and its standard output is the message.

        Raises ResourceError when the command can't be started or is killed.
        """
        completed = await run(Command(split_words(value), "/", ENVIRONMENT))
        words = completed.stdout.strip() or output_tail("", completed.stderr).strip()
        return HealthResult(_STATUS.get(completed.exit_code, HealthStatus.UNKNOWN), words)
