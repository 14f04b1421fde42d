"""The rule ``package``: whether the package manager has installed something, and in which versions."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any, Final

from reactor import ResourceError
from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Rule
from reactor.resources.process import ENVIRONMENT, Command, run

_INSTALLED = "installed "
"""What a line of the answer begins with, before a version."""

_QUESTIONS: Final = (
    ("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\n", "--"),
    ("rpm", "-q", "--nosignature", "--nodigest",
     "--qf", "installed %|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n", "--"),
)  # fmt: skip


class PackageRule(Rule):
    """A package of dpkg, or where that is missing, of rpm."""

    name: str | None = None
    """The name; by default the key."""
    installed: Expected = True
    versions: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Ask the package manager of this host."""
        command = Command((*_question(), self.name or key), "/", ENVIRONMENT)
        lines = (await run(command)).stdout.splitlines()
        versions = [line.removeprefix(_INSTALLED) for line in lines if line.startswith(_INSTALLED)]
        return {"installed": True, "versions": versions} if versions else {"installed": False}


def _question() -> Sequence[str]:
    """How to ask the package manager of this host; the name of the package is to follow."""
    for question in _QUESTIONS:
        if shutil.which(question[0], path=ENVIRONMENT["PATH"]):
            return question
    raise ResourceError("there is neither dpkg-query nor rpm to ask for packages")
