"""The rule ``package``: whether the package manager has installed something, and in which versions."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reactor import ResourceError
from resources.health.goss.matchers import Expected
from resources.health.goss.rule import Rule
from resources.process import ENVIRONMENT, Command, run


@dataclass(frozen=True, slots=True)
class _Manager:
    """How to ask for a package: each line of the answer that starts with ``mark`` goes on with a version."""

    arguments: Sequence[str]
    mark: str


_MANAGERS: Final = (
    _Manager(("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\n", "--"), "installed "),
    _Manager(
        ("rpm", "-q", "--nosignature", "--nodigest",
         "--qf", "installed %|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n", "--"),
        "installed ",
    ),
)  # fmt: skip


class PackageRule(Rule):
    """A package of dpkg, or where that is missing, of rpm."""

    name: str | None = None
    """The name; by default the key."""
    installed: Expected = True
    versions: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Ask the package manager of this host."""
        manager = _manager()
        command = Command((*manager.arguments, self.name or key), "/", ENVIRONMENT)
        lines = (await run(command)).stdout.splitlines()
        versions = [line.removeprefix(manager.mark) for line in lines if line.startswith(manager.mark)]
        return {"installed": True, "versions": versions} if versions else {"installed": False}


def _manager() -> _Manager:
    for manager in _MANAGERS:
        if shutil.which(manager.arguments[0], path=ENVIRONMENT["PATH"]):
            return manager
    raise ResourceError("there is neither dpkg-query nor rpm to ask for packages")
