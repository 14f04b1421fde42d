"""Where former content and other state goes: a run sets it up, and kinds use it through ``reactor.hostfs``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class BackupStore(Protocol):
    """The store of former content."""

    async def keep(self, path: str, ref: str, fd: int) -> None:
        """Keep what the regular file open at ``fd`` holds, with owner and mode, as a former version of ``path``.

        ``ref`` is the resource that changes it. Raises OSError when that can't be done.
        """

    async def keep_for_undo(self, ref: str, fd: int) -> str:
        """Keep what the regular file open at ``fd`` holds until ``ref`` has been undone; return the path of the copy.

        On the disk when this returns. Raises OSError when that can't be done.
        """


backup_store: ContextVar[BackupStore | None] = ContextVar("keeper", default=None)
"""Set for a run that changes things; without one nothing is kept."""

state_directory: ContextVar[str | None] = ContextVar("state_directory", default=None)
"""Where the program keeps state, also for a run that changes nothing: a directory that only its owner can enter."""


@contextmanager
def state_directory_for(directory: str | None) -> Iterator[None]:
    """Let ``directory`` be the `state_directory` for a block, and for the tasks that are started in it."""
    token = state_directory.set(directory)
    try:
        yield
    finally:
        state_directory.reset(token)
