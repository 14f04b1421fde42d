"""Reads and edits files in which resources, users and other programs own single lines.

All other lines stay byte for byte, whatever they hold. The file may be in a directory of another user: a symlink is
followed only where `reactor.hostfs` allows that, and the file keeps its owner and mode.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import trio

from reactor import Diff, ResourceError
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    Inline,
    Parent,
    Stamp,
    content_diff,
    find_stale_temporaries,
    new_file_diff,
    open_source,
    others_may_write,
    read,
    refuse_replacement,
    remove_stale_temporaries,
    stamp_of,
    write_file,
)

LARGEST = 16 << 20
"""The most bytes that are read of a file."""
LARGEST_OF_OTHERS, MOST_LINES_OF_OTHERS = 4 << 20, 20_000
"""The most bytes and lines of a file to which another user may write: they are looked at in the event loop."""

Change = Callable[[Sequence[bytes]], list[bytes]]
"""A function from the present lines, each with its end, to the desired lines."""

_ATTEMPTS = 5
"""How often an edit is begun while other programs change the file."""

_editing = trio.Lock()
"""Held from reading to writing, because resources that edit the same file run concurrently."""


class Found(NamedTuple):
    """A file: its path without symlinks, its content, its attributes, and its stamp when it was read."""

    path: str
    data: bytes
    attributes: Attributes
    stamp: Stamp = ()

    @property
    def lines(self) -> list[bytes]:
        """The lines, each with its end. Only a newline ends a line."""
        return [*_split(self.data)]


def find(path: str) -> Found | None:
    """The regular file at ``path``; None if there is none. Raises ResourceError when it can't be read."""
    with ErrorContext(f"read {path}"):
        try:
            fd = open_source(path)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise ResourceError(f"{path} is not a regular file, or leads to something else", "remove it")
            data = read_bounded(fd, path, status)
            real = _name_of(fd, path, status)
        finally:
            os.close(fd)
    attributes = Attributes(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode))
    return Found(real, data, attributes, stamp_of(status))


def read_bounded(fd: int, path: str, status: os.stat_result) -> bytes:
    """The content of the open file. Raises ResourceError when it is so long that reading it would delay other repairs."""
    is_of_others = others_may_write(status, fd)
    most = LARGEST_OF_OTHERS if is_of_others else LARGEST
    hint = "see what it holds, and shorten it"
    if status.st_size > most:
        raise ResourceError(f"{path} has {status.st_size} bytes, and at most {most} are read", hint)
    data = read(fd, most)
    if is_of_others and data.count(b"\n") > MOST_LINES_OF_OTHERS:
        raise ResourceError(f"{path} has more than {MOST_LINES_OF_OTHERS} lines", hint)
    return data


async def edit(path: str, changes: Sequence[Change], new: Attributes) -> None:
    """Make all ``changes`` of the file at ``path`` in one write. A missing file counts as empty. Raises as `rewrite`."""

    def changed(found: Found | None) -> bytes | None:
        before = found.lines if found else []
        after = _changed(before, changes)
        return None if after == before else b"".join(after)

    await rewrite(path, changed, new)


async def rewrite(path: str, change: Callable[[Found | None], bytes | None], new: Attributes) -> None:
    """Write what ``change`` makes of the file at ``path``, unless that is None. A missing file gets ``new``.

    What another program writes in between is not lost: then the edit begins again, a few times. Raises ResourceError
    when the file can't be written.
    """
    async with _editing:
        for attempt in range(_ATTEMPTS):
            found = find(path)
            try:
                if (data := change(found)) is not None:
                    await _write(path, found, data, new)
            except ResourceError:
                now = find(path)
                if attempt == _ATTEMPTS - 1 or (now and now.stamp) == (found and found.stamp):
                    raise
            else:
                break


async def _write(path: str, found: Found | None, data: bytes, new: Attributes) -> None:
    """Replace the file, unless another program has changed it since it was ``found``."""
    target, attributes = (found.path, found.attributes) if found else (path, new)
    directory, base = os.path.split(target)
    stale = await find_stale_temporaries(directory, base, attributes.uid)
    await remove_stale_temporaries(target, stale, attributes.uid)
    stamp = found.stamp if found else () if not os.path.islink(path) else None  # noqa: ASYNC240 - as fast as `find`
    await write_file(target, Inline(data), attributes, before=stamp)


async def diff(path: str, changes: Iterable[Change]) -> Diff:
    """The diff that `edit` would make."""
    found = find(path)
    content = Inline(b"".join(_changed(found.lines if found else [], changes)))
    return await (content_diff(found.path, content, ()) if found else new_file_diff(path, content, ()))


def refuse_unwritable(path: str) -> None:
    """Raise the ResourceError with which a write of ``path`` would fail, as far as that can be seen before."""
    with ErrorContext(f"write {path}"), Parent(path):  # its directory must be there
        refuse_replacement(path)


def with_line(lines: Sequence[bytes], line: bytes) -> list[bytes]:
    """``lines`` with ``line``, which has no end, as the last one."""
    ended = [*lines]
    if ended and not ended[-1].endswith(b"\n"):
        ended[-1] += b"\n"
    return [*ended, line + b"\n"]


def replaced(lines: Sequence[bytes], places: Sequence[int], line: bytes) -> list[bytes]:
    """``lines`` with ``line``, which has no end, in place of the first of ``places``, and without the others.

    Without places, it becomes the last line. A line keeps its end.
    """
    if not places:
        return with_line(lines, line)
    first, others = places[0], frozenset(places[1:])
    end = lines[first][len(lines[first].rstrip(b"\r\n")) :]
    return [line + end if at == first else old for at, old in enumerate(lines) if at not in others]


def without(lines: Sequence[bytes], places: Iterable[int]) -> list[bytes]:
    """``lines`` without those at ``places``."""
    gone = frozenset(places)
    return [line for at, line in enumerate(lines) if at not in gone]


def _changed(lines: Sequence[bytes], changes: Iterable[Change]) -> list[bytes]:
    after = [*lines]
    for change in changes:
        after = change(after)
    return after


@lru_cache(maxsize=8)  # many resources look at the same file
def _split(data: bytes) -> tuple[bytes, ...]:
    *ended, last = data.split(b"\n")
    return (*(line + b"\n" for line in ended), *((last,) if last else ()))


def _name_of(fd: int, path: str, status: os.stat_result) -> str:
    """The path of the open file without symlinks. Raises ResourceError if it was replaced meanwhile."""
    real = os.readlink(f"/proc/self/fd/{fd}")
    try:
        if os.path.samestat(os.lstat(real), status):
            return real
    except FileNotFoundError:
        pass
    raise ResourceError(f"{path} was replaced while it was read", "it is tried again")
