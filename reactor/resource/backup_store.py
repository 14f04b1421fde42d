"""Where previous content and other state is stored. A run sets this up; kinds use it through ``reactor.hostfs``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

READ_AT_ONCE = 64 * 1024
"""Bytes. A store reads a larger file in a thread; a smaller one on the event loop, which is cheaper."""


class BackupStore(Protocol):
    """A store of previous content."""

    async def keep(self, path: str, ref: str, fd: int) -> None:
        """Store the regular file open at ``fd``, with owner and mode, as a previous version of ``path``.

        ``ref`` is the resource that changes it. Raises OSError when storing fails.
        """

    async def keep_for_undo(self, ref: str, fd: int) -> str:
        """Store the regular file open at ``fd`` until ``ref`` has been undone; return the path of the copy.

        On disk when this returns. Raises OSError when storing fails.
        """


backup_store: ContextVar[BackupStore | None] = ContextVar("backup_store", default=None)
"""Set for a run that changes things; if it is None, nothing is stored."""

state_directory: ContextVar[str | None] = ContextVar("state_directory", default=None)
"""The program's state directory, which only its owner can enter. Also set for a run that changes nothing."""


@contextmanager
def state_directory_for(directory: str | None) -> Iterator[None]:
    """Set `state_directory` to ``directory`` for a block, and for the tasks started in it."""
    token = state_directory.set(directory)
    try:
        yield
    finally:
        state_directory.reset(token)
