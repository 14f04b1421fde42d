"""What a kind replaces or removes can be had back: the way to wherever former content is kept."""

from __future__ import annotations

import os
import stat
from contextvars import ContextVar
from types import TracebackType
from typing import Protocol, Self

from reactor.resource.plan import ResourceError
from reactor.resource.speech import say

_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class Keeper(Protocol):
    """Where former content goes."""

    async def keep(self, path: str, ref: str, fd: int) -> None:
        """Keep what the regular file open at ``fd`` holds, with owner and mode, as a former version of ``path``.

        ``ref`` is the resource that changes it. Raises OSError when that can't be done.
        """

    async def hold(self, path: str, ref: str) -> str:
        """Keep what the regular file at ``path`` holds until ``ref`` has been undone; return where.

        On the disk when this returns. Raises OSError when that can't be done.
        """


keeper: ContextVar[Keeper | None] = ContextVar("keeper", default=None)
"""Set for a run that changes things; without one nothing is kept."""


async def hold(path: str, ref: str) -> str:
    """The path of a file that keeps what ``path`` holds now, for the reversal of ``ref``.

    Raises ResourceError when there is no place to keep it, and OSError when that place does not take it.
    """
    if (place := keeper.get()) is None:
        raise ResourceError(
            f"{path} could not be brought back: nothing is kept in this run", "give it a state directory"
        )
    return await place.hold(path, ref)


class Former:
    """The regular file that is at ``path`` when the block begins, held while ``ref`` replaces or removes it.

    Holding it costs one open(2) that touches nothing, not even a device; all else waits until the new content is in
    place. Nothing here ever raises: a backup that fails must not keep a repair from being made. It says so instead.
    """

    __slots__ = ("_fd", "_keeper", "_path", "_ref")

    def __init__(self, path: str, ref: str) -> None:
        self._path = path
        self._ref = ref
        self._keeper = keeper.get()
        self._fd = -1

    def __enter__(self) -> Self:
        if self._keeper is not None:
            try:
                self._fd = os.open(self._path, _HANDLE)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError as error:
                self._complain(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd != -1:
            os.close(self._fd)

    async def keep(self) -> None:
        """Keep what the file holds now. To be called once, when the path leads to something else."""
        if self._keeper is not None and self._fd != -1:
            try:
                if stat.S_ISREG(os.fstat(self._fd).st_mode):
                    await self._keep(self._keeper)
            except OSError as error:
                self._complain(error)

    async def _keep(self, keeper: Keeper) -> None:
        readable = os.open(f"/proc/self/fd/{self._fd}", _READ)
        try:
            await keeper.keep(self._path, self._ref, readable)
        finally:
            os.close(readable)

    def _complain(self, error: OSError) -> None:
        say(f"no backup of {self._path}: {error.strerror or error}")
