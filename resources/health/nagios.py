"""Runs a command that ends as Nagios plugins do."""

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
    """Splits the command into words as a shell would, and starts it without one."""

    takes = Annotated[str, Field(strict=True), AfterValidator(_check_command)]

    def describe(self, value: str) -> str:
        """The command without its directory."""
        program, gap, rest = value.strip().partition(" ")
        return f"{posixpath.basename(program)}{gap}{rest}"

    async def examine(self, value: str) -> HealthResult:
        """The exit code is the status; what the command wrote to stdout is for people.

        Raises ResourceError when the command can't be started or is killed.
        """
        completed = await run(Command(split_words(value), "/", ENVIRONMENT))
        words = completed.stdout.strip() or output_tail("", completed.stderr).strip()
        return HealthResult(_STATUS.get(completed.exit_code, HealthStatus.UNKNOWN), words)
