"""Files that commands write where they are asked to: by the rules of all that root writes below directories of others.

Root may name a path in a directory of another user, or in /tmp, where a symlink of theirs leads to a file of root.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reactor.atomic_write import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRITE = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_output(path: str, content: bytes) -> None:
    """Let the file at ``path`` hold ``content``; a device or a pipe is written to. A symlink of a stranger is refused.

    Raises OSError and ResourceError.
    """
    from reactor.hostfs import open_directory

    with _opened(path) as handle:
        if handle is not None and not stat.S_ISREG(os.fstat(handle).st_mode):
            with open(os.open(f"/proc/self/fd/{handle}", _WRITE), "wb") as file:
                file.write(content)  # there is nothing to replace
            return
        target = os.path.abspath(path) if handle is None else os.readlink(f"/proc/self/fd/{handle}")
    parent, base = os.path.split(target)
    directory = open_directory(parent)
    try:
        replace_file(f"/proc/self/fd/{directory}/{base}", content, 0o666 & ~_umask())
    finally:
        os.close(directory)


def create_output(path: str, content: str) -> None:
    """Make a new file at the absolute ``path``, and the directories above it that are missing.

    Raises FileExistsError and other OSErrors, and ResourceError where a stranger leads elsewhere.
    """
    from reactor.hostfs import Parent, make_directories

    make_directories(os.path.dirname(path))
    with (
        Parent(path) as (directory, base),
        open(os.open(base, _NEW, 0o666, dir_fd=directory), "w", encoding="utf-8") as file,
    ):
        file.write(content)


def read_output(path: str) -> str:
    """What the file at the absolute ``path`` holds, where `create_output` found one. Raises as that."""
    from reactor.hostfs import open_content

    with open(open_content(path), encoding="utf-8", errors="replace") as file:
        return file.read()


@contextmanager
def _opened(path: str) -> Iterator[int | None]:
    """A handle of what is at ``path``, at the end of symlinks; None where nothing is.

    /dev/stdout may lead to a pipe, which has no path to walk to.
    """
    from reactor.hostfs import open_resolved

    try:
        handle = open_resolved(os.path.abspath(path))
    except FileNotFoundError:
        if not os.path.exists(path):
            yield None
            return
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if stat.S_ISREG(os.fstat(handle).st_mode):  # it came just now
            os.close(handle)
            raise
    try:
        yield handle
    finally:
        os.close(handle)


def _umask() -> int:
    """What a new file may not be."""
    os.umask(mask := os.umask(0o077))
    return mask
