"""Runs a command that ends as Nagios plugins do."""

from __future__ import annotations

import posixpath
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from reactor import Finding, Status
from resources.process import ENVIRONMENT, Command, last_words, run, split_words

_STATUS: Final = {0: Status.OK, 1: Status.WARNING, 2: Status.CRITICAL}
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

    async def examine(self, value: str) -> Finding:
        """The exit code is the status; what the command wrote to stdout is for people.

        Raises ResourceError when the command can't be started or is killed.
        """
        completed = await run(Command(split_words(value), "/", ENVIRONMENT))
        words = completed.stdout.strip() or last_words("", completed.stderr).strip()
        return Finding(_STATUS.get(completed.exit_code, Status.UNKNOWN), words)
