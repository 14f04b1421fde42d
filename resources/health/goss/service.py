"""The rule ``service``: what systemd says of a unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Rule
from reactor.resources.process import ENVIRONMENT, Command, run


class ServiceRule(Rule):
    """A unit; without a suffix it is a service."""

    name: str | None = None
    """The name; by default the key."""
    enabled: Expected = None
    running: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Ask systemctl for what is expected."""
        name = self.name or key
        found = {}
        if self.enabled is not None:
            found["enabled"] = await _agrees("is-enabled", name)
        if self.running is not None:
            found["running"] = await _agrees("is-active", name)
        return found


async def _agrees(question: str, unit: str) -> bool:
    """Raises ResourceError when there is no systemctl. Where it finds no systemd to ask, the answer is no."""
    command = Command(("systemctl", "--quiet", question, "--", unit), "/", ENVIRONMENT)
    return (await run(command)).exit_code == 0
