"""The rule ``command``: how a command ends, and what it writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from reactor.resources.health.goss.matchers import Expected, Text
from reactor.resources.health.goss.rule import MILLISECOND, Milliseconds, Rule
from reactor.resources.process import ENVIRONMENT, Command, run


class CommandRule(Rule):
    """A line for /bin/sh."""

    command: str | None = Field(default=None, alias="exec")
    """The command; by default the key."""
    exit_status: Expected = 0
    stdout: Expected = None
    stderr: Expected = None
    timeout: Milliseconds = 10_000
    """Milliseconds after which it is killed."""

    async def find(self, key: str) -> Mapping[str, Any]:
        """Run it."""
        line = ("/bin/sh", "-c", self.command or key)
        completed = await run(Command(line, "/", ENVIRONMENT, self.timeout * MILLISECOND))
        return {
            "exit_status": completed.exit_code,
            "stdout": Text(completed.stdout),
            "stderr": Text(completed.stderr),
        }
