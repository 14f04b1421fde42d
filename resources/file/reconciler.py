"""The interface to read and plan one path: a file or directory, a link, or a file with more to manage."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from reactor import Plan
from reactor.resources.file.state import FileState


class Reconciler(Protocol):
    """Reads the state of one path, and plans its changes."""

    def observe(self) -> Coroutine[Any, Any, FileState]:
        """The state of the path. Raises ResourceError when it can't be read."""

    def expect_file(self) -> None:
        """Expect a regular file, because one was just put in place."""

    def plan(self, state: FileState) -> Plan:
        """The plan for ``state``. Raises ResourceError if the path must not be changed."""

    async def preflight(self, state: FileState) -> None:
        """Raise the ResourceError with which the change would fail, for a dry run."""
