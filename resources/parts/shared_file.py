"""Reads and writes the files that several resources edit, once for all of them.

A file is read again only if its stamp may hide a change. As long as the bytes are the same, all its resources share one
`Document`, so it is split and parsed once.
"""

from __future__ import annotations

import os
import stat
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from weakref import WeakValueDictionary

import trio

from reactor import ResourceError, in_thread
from reactor.hostfs import (
    INLINE_LIMIT,
    Attributes,
    ErrorContext,
    Inline,
    Stamp,
    Validator,
    at_hand,
    find_stale_temporaries,
    open_content,
    open_source,
    read,
    read_now,
    remove_stale_temporaries,
    stamp_is_reliable,
    stamp_of,
    write_if_unchanged,
)
from reactor.resources.parts.document import LARGEST, Document

_MOST_KEPT = 16 << 20
"""Bytes of documents that are kept in memory for the next look."""


class Found(NamedTuple):
    """A file as it was read. ``real`` is its path without symlinks; ``attributes`` are None if there is no file."""

    document: Document
    real: str
    attributes: Attributes | None
    stamp: Stamp | None = None


class _Kept(NamedTuple):
    """A file that was read, and whether an equal stamp proves that it has not changed since."""

    found: Found
    is_proof: bool


_kept: OrderedDict[str, _Kept] = OrderedDict()
_locks: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()


def lock_of(real: str) -> trio.Lock:
    """Held from reading to writing, since resources that edit one file may run at the same time."""
    lock = _locks.get(real)
    if lock is None:
        lock = _locks[real] = trio.Lock()
    return lock


async def look(path: str) -> Found:
    """The file at ``path``, which may be a symlink; the same object as long as it has not changed.

    Raises ResourceError when it can't be read, or is not a regular file.
    """
    return _unchanged(path) or await look_again(path)


def look_now(path: str) -> Found | None:
    """As `look`, but never waits: None for a file that is large, or that the disk must read. Raises ResourceError."""
    if (found := _unchanged(path)) is not None:
        return found
    now = time.time_ns()
    with ErrorContext(f"read {path}"), _opened(path) as (fd, status, real):
        data = read_now(fd, status)
    return None if data is None else _cache(path, bytes(data), real, status, now)


def distrust(path: str) -> None:
    """Let the next look read the file at ``path``, also if a stat shows no change."""
    if (kept := _kept.get(path)) is not None:
        _kept[path] = kept._replace(is_proof=False)


def _unchanged(path: str) -> Found | None:
    """The file as it was read before, if a stat proves that it has not changed since."""
    kept = _kept.get(path)
    if kept is not None and kept.is_proof:
        try:
            # By path, which may lead anywhere: the stat only shows that nothing has changed.
            if stamp_of(os.stat(path)) == kept.found.stamp:
                return kept.found
        except OSError:
            pass
    return None


async def look_again(path: str) -> Found:
    """As `look`, but the file is read in any case."""
    now = time.time_ns()
    with ErrorContext(f"read {path}"):
        try:
            data, real, status = await _read(path)
        except FileNotFoundError:
            _kept.pop(path, None)
            _refuse_dangling_link(path)
            return Found(Document(), path, None)
    return _cache(path, data, real, status, now)


def _refuse_dangling_link(path: str) -> None:
    if os.path.islink(path):
        words, hint = f"{path} is a symlink that leads nowhere", "name the file, or remove the symlink"
        raise ResourceError(words, hint, missing=path)


def _cache(path: str, data: bytes, real: str, status: os.stat_result, now: int) -> Found:
    """The file that was read, for the next look; the former object if nothing has changed."""
    stamp = stamp_of(status)
    attributes = Attributes(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode))
    kept = _kept.get(path)
    if kept is not None and kept.found[1:3] == (real, attributes) and kept.found.document.data == data:
        found = kept.found if kept.found.stamp == stamp else kept.found._replace(stamp=stamp)
    else:
        found = Found(Document.of(data, path), real, attributes, stamp)
    _keep(path, _Kept(found, stamp_is_reliable(status, now)))
    return found


def _keep(path: str, kept: _Kept) -> None:
    """Keep the newest files, as many as fit."""
    _kept[path] = kept
    _kept.move_to_end(path)
    size = sum(_size_of(each.found) for each in _kept.values()) if _size_of(kept.found) > 1 << 16 else 0
    while size > _MOST_KEPT and _kept:
        _, oldest = _kept.popitem(last=False)
        size -= _size_of(oldest.found)


def _size_of(found: Found) -> int:
    return 0 if found.stamp is None else found.stamp[2]


async def _read(path: str) -> tuple[bytes, str, os.stat_result]:
    """The content of the file, its path without symlinks, and its stat. Follows only symlinks that may be followed."""
    with _opened(path) as (fd, status, real):
        await at_hand(path, fd, status.st_size)
        if status.st_size <= INLINE_LIMIT:
            return read(fd, status.st_size), real, status
        return await in_thread(read, fd, status.st_size), real, status


@contextmanager
def _opened(path: str) -> Iterator[tuple[int, os.stat_result, str]]:
    """The open file, its stat, and its path without symlinks. Raises ResourceError unless it may be edited."""
    fd = open_source(path)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            words = f"{path} is not a regular file, or leads to something else"
            raise ResourceError(words, "name a file, or remove what is there", missing=path)
        if status.st_size > LARGEST:
            words = f"{path} has {status.st_size >> 20} MiB, and only files of up to {LARGEST >> 20} can be edited"
            raise ResourceError(words, "manage the whole file with the kind file")
        real = os.readlink(f"/proc/self/fd/{fd}")
        if real != path:
            _require_same(path, real, status)
        yield fd, status, real
    finally:
        os.close(fd)


def _require_same(path: str, real: str, status: os.stat_result) -> None:
    """Raise ResourceError unless ``real`` is the file that was opened: a symlink may have been replaced meanwhile."""
    elsewhere = ResourceError(f"{path} now leads elsewhere", "see who replaces the file or the symlink")
    try:
        fd = open_content(real)
    except FileNotFoundError:
        raise elsewhere from None
    try:
        if not os.path.samestat(os.fstat(fd), status):
            raise elsewhere
    finally:
        os.close(fd)


class Approval(NamedTuple):
    """The commands that validate the new file."""

    validators: tuple[Validator, ...]

    async def approve(self, candidate: str, path: str) -> None:
        """Raise ResourceError unless every command returns 0."""
        for validator in self.validators:
            await validator.approve(candidate, path)


async def store(
    before: Found, after: Document, attributes: Attributes, validators: Iterable[Validator]
) -> bool:
    """Replace the content of the file in one step, unless another program has changed it. Raises ResourceError.

    Returns whether it was replaced.
    """
    directory, base = os.path.split(before.real)
    stale = await find_stale_temporaries(directory, base, attributes.uid)
    await remove_stale_temporaries(before.real, stale, attributes.uid)
    approval = Approval(tuple(validators))
    validator = approval if approval.validators else None
    return await write_if_unchanged(
        before.real, Inline(after.data), attributes, validator, before.stamp or ()
    )
