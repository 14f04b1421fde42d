"""The rule ``kernel-param``: a value of sysctl."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Rule


class KernelParamRule(Rule):
    """A parameter of the kernel, written with dots."""

    name: str | None = None
    """The name; by default the key."""
    value: Expected

    async def find(self, key: str) -> Mapping[str, Any]:
        """Read it below /proc/sys."""
        return {"value": _read(self.name or key)}


def _read(name: str) -> str:
    return Path("/proc/sys", name.replace(".", "/")).read_text(encoding="utf-8").strip()
