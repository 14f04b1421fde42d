"""The archive file: downloads it beside its path, verifies its checksum, puts it in place, and removes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from reactor import ResourceError, emit_output, in_thread
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    Parent,
    PreviousContent,
    Source,
    digest_of,
    flush_directory,
    is_only_ours,
    is_stale_temporary,
    open_content,
    set_attributes,
    write_file,
)
from reactor.resources.archive import staging
from reactor.resources.archive.last_unpacking import record_unpacking
from reactor.resources.archive.staging import staging_path
from reactor.resources.archive.state import Desired
from reactor.resources.download.download_origin import Origin, fingerprint
from reactor.resources.download.fetching import fetch_in_time
from reactor.resources.download.partial_download import Partial, partial_path

_COPY = os.O_RDWR | os.O_CLOEXEC
MODE = 0o640
"""The mode of an archive. Only its owner and group need to read it, and the download may have needed a password."""


async def download(desired: Desired, owner: tuple[int, int], expected: Expected) -> None:
    """Download the archive to its path, owned by ``owner`` (ids), unless the version there is current.

    Raises ResourceError. If it must be unpacked, a note on the disk says so before it is in place, so that a later
    process knows. Sets the checksum of ``expected``.
    """
    source = desired.source
    with (
        ErrorContext(f"download {source.shown} to {desired.path}"),
        Parent(desired.path) as (directory, base),
    ):
        if desired.extract_parent is not None:
            staging.refuse_other_than_directory(desired.extract_parent)
        known = await _known(desired)
        with Partial(directory, desired.path) as partial:
            await partial.resume(fingerprint(source.url))
            if not await fetch_in_time(source, partial, known):
                partial.restart(None)
                emit_output("the server still has the same archive: it is not fetched again")
                expected.checksum = known.checksum if known is not None else None
                await give(desired.path, owner)
                return
            if desired.checksum not in (None, partial.checksum):
                found = partial.checksum
                partial.restart(None)
                words = f'download failed: checksum mismatch, expected "{desired.checksum}" got "{found}"'
                raise ResourceError(words, "correct the checksum, if this is the intended archive")
            expected.checksum = partial.checksum
            if desired.extract_parent is not None:
                await staging.mark_due(desired.extract_parent, desired.path, owner)
            with PreviousContent(desired.path, desired.ref, directory, base) as former:
                await partial.place(owner, MODE)
                await former.keep()
            if desired.extract_parent is None:
                await in_thread(record_unpacking, desired, None)


async def _known(desired: Desired) -> Origin | None:
    """The recorded origin of the archive, if it is unchanged since our download and no other user can write to it."""
    origin = Origin.recorded(desired.path)
    if desired.checksum is not None or origin is None or origin.url != fingerprint(desired.source.url):
        return None
    if not origin.etag and not origin.last_modified:
        return None
    found = await in_thread(digest_of_ours, desired.path)
    return origin if found == origin.checksum else None


@dataclass(slots=True)
class Expected:
    """The SHA-256, in hex, of the archive to unpack; None until it is known."""

    checksum: str | None


def digest_of_ours(path: str) -> str | None:
    """The SHA-256 of the archive at ``path`` if no other user can write to it, else None. Blocking. Raises OSError."""
    try:
        fd = open_content(path)
    except (FileNotFoundError, ResourceError):
        return None
    try:
        return digest_of(fd) if is_only_ours(os.fstat(fd), fd) else None
    finally:
        os.close(fd)


@contextmanager
def verified(path: str, checksum: str | None, staging: int, most: int) -> Iterator[str]:
    """Yield a path of the archive at ``path`` after its SHA-256 was compared with ``checksum``.

    If other users can write to the archive, it is the path of a private copy, in the directory open at ``staging``; an
    archive of more than ``most`` bytes is not copied. Blocking. Raises ResourceError if the archive has changed, and
    OSError.
    """
    fd = open_content(path)
    try:
        if is_only_ours(os.fstat(fd), fd):
            found = digest_of(fd) if checksum is not None else ""
        else:
            original, fd = fd, _unnamed(staging)
            try:
                found = digest_of(original, copy=fd, most=most)
            finally:
                os.close(original)
        if found is None or (checksum is not None and found != checksum):
            hint = "check who can write to it; the next attempt downloads it again"
            raise ResourceError(f"{path} was changed after it had been verified", hint)
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def _unnamed(directory: int) -> int:
    """Create a file without a name in the directory, so that a crash removes it."""
    with suppress(OSError):  # not every file system has O_TMPFILE
        return os.open(".", _COPY | os.O_TMPFILE, 0o600, dir_fd=directory)
    fd = os.open("copy", _COPY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600, dir_fd=directory)
    os.unlink("copy", dir_fd=directory)
    return fd


async def give(path: str, owner: tuple[int, int]) -> None:
    """Give the archive at ``path``, which only we can write to, to ``owner``."""
    await set_attributes(path, Attributes(*owner, MODE))


async def change_owner(path: str, owner: tuple[int, int]) -> None:
    """Replace the archive by a copy owned by ``owner``: other processes may have the old one open for writing."""
    await write_file(path, Source(path), Attributes(*owner, MODE))


async def remove(desired: Desired) -> None:
    """Remove the archive, with a backup."""
    with (
        ErrorContext(f"remove {desired.path}"),
        Parent(desired.path) as (directory, base),
        PreviousContent(desired.path, desired.ref, directory, base) as former,
    ):
        await _unlink(directory, base)
        await former.keep()
        Origin.forget(desired.path)


async def clean_up(desired: Desired) -> None:
    """Remove the archive after unpacking, without a backup: it can be downloaded again."""
    with ErrorContext(f"remove {desired.path}"), Parent(desired.path) as (directory, base):
        await _unlink(directory, base)


async def tidy(desired: Desired) -> None:
    """Remove the leftovers of an interrupted run, if it can't be resumed."""
    with ErrorContext(f"remove what an interrupted run left of {desired.path}"):
        with Parent(partial_path(desired.path)) as (directory, base):
            if is_stale_temporary(base, os.geteuid(), directory):
                os.unlink(base, dir_fd=directory)
        if desired.extract_parent is not None and desired.ensure == "absent":
            with suppress(FileNotFoundError):
                await in_thread(staging.discard, staging_path(desired.extract_parent, desired.path))


async def _unlink(directory: int, base: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(base, dir_fd=directory)
    await flush_directory(directory)
