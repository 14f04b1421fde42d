"""Reads the state of an archive resource on this host. It sends no request to the server."""

from __future__ import annotations

import os
import stat
import time
from functools import partial

from reactor import ResourceError, fragile_mounts, in_thread
from reactor.hostfs import (
    ErrorContext,
    FileType,
    Stamp,
    accounts,
    digest_of,
    is_stale_temporary,
    open_content,
    open_path,
    stamp_is_reliable,
    stamp_of,
    type_of,
)
from reactor.resources.archive.last_unpacking import is_outdated
from reactor.resources.archive.staging import staging_path
from reactor.resources.archive.state import ArchiveState, Desired
from reactor.resources.download.download_origin import Origin, fingerprint
from reactor.resources.download.partial_download import partial_path


class Observer:
    """Reads the state of one archive. The content is read again only when a stat shows that it may have changed."""

    __slots__ = ("_checksum", "_stamp", "desired")

    def __init__(self, desired: Desired) -> None:
        self.desired = desired
        self._stamp: Stamp | None = None
        self._checksum: str | None = None

    async def observe(self) -> ArchiveState:
        """The state of the archive and of the path it creates. Raises ResourceError when they can't be read."""
        desired = self.desired
        if desired.extract_parent is not None:  # no watch checks its mount
            await fragile_mounts().ask(desired.extract_parent)
        with ErrorContext(f"inspect {desired.path}"):
            found = self._stat()
            kind = FileType.ABSENT if found is None else type_of(found.st_mode)
            partial = is_stale_temporary(partial_path(desired.path), os.geteuid())
            interrupted = desired.extract_parent is not None and os.path.lexists(  # noqa: ASYNC240 - as an lstat
                staging_path(desired.extract_parent, desired.path)
            )
            if desired.ensure == "absent":
                return ArchiveState(kind, partial=partial, interrupted=interrupted)
            wanted = accounts.known(desired.owner, desired.group)
            if wanted is None:
                wanted = await accounts.look_up(desired.owner, desired.group)
            return ArchiveState(
                kind,
                wanted,
                is_owned=found is not None and (found.st_uid, found.st_gid) == wanted,
                is_shared=found is not None and kind is FileType.FILE and found.st_nlink > 1,
                same_content=await self._same_content() if kind is FileType.FILE else None,
                creates_exists=self._creates_exists(),
                partial=partial,
                interrupted=interrupted,
                outdated=is_outdated(desired),
            )

    def _creates_exists(self) -> bool | None:
        created = self.desired.creates or self.desired.extract_parent
        return None if created is None else exists(created)

    def _stat(self) -> os.stat_result | None:
        """The stat of the path, without following a symlink of another user."""
        try:
            fd = open_path(self.desired.path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)

    async def _same_content(self) -> bool | None:
        desired = self.desired
        if desired.checksum is not None:
            return await self._current_checksum() == desired.checksum
        origin = Origin.recorded(desired.path)
        if origin is not None and origin.url != fingerprint(desired.source.url):
            return False
        return None

    async def _current_checksum(self) -> str | None:
        now = time.time_ns()
        try:
            fd = open_content(self.desired.path)
        except (FileNotFoundError, ResourceError):
            return None
        try:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                return None
            if self._stamp is None or stamp_of(before) != self._stamp:
                most = self.desired.source.max_size  # the owner of the file may have made it of any length
                self._checksum = await in_thread(partial(digest_of, fd, most=most))
                unmoved = stamp_of(os.fstat(fd)) == stamp_of(before)
                self._stamp = stamp_of(before) if unmoved and stamp_is_reliable(before, now) else None
            return self._checksum
        finally:
            os.close(fd)


def exists(path: str) -> bool:
    """Whether ``path`` exists, following symlinks. Raises OSError."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
