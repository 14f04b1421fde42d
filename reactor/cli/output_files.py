"""Writes and reads the output files of commands, at paths that the user gives, as safely as managed files.

Root may give a path in a directory of another user, or in /tmp, where a symlink of another user may lead to a file of
root.
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
    """Create or replace the file at ``path`` with ``content``. A device or a pipe is written to, not replaced.

    Raises OSError, and ResourceError for a symlink of another user.
    """
    from reactor.hostfs import open_directory

    with _opened(path) as handle:
        if handle is not None and not stat.S_ISREG(os.fstat(handle).st_mode):
            with open(os.open(f"/proc/self/fd/{handle}", _WRITE), "wb") as file:
                file.write(content)  # a device or a pipe must not be replaced
            return
        target = os.path.abspath(path) if handle is None else os.readlink(f"/proc/self/fd/{handle}")
    parent, base = os.path.split(target)
    directory = open_directory(parent)
    try:
        replace_file(f"/proc/self/fd/{directory}/{base}", content, 0o666 & ~_umask())
    finally:
        os.close(directory)


def create_output(path: str, content: str) -> None:
    """Create a new file at the absolute ``path``, and the missing directories above it.

    Raises FileExistsError and other OSErrors, and ResourceError for a symlink of another user.
    """
    from reactor.hostfs import Parent, make_directories

    make_directories(os.path.dirname(path))
    with (
        Parent(path) as (directory, base),
        open(os.open(base, _NEW, 0o666, dir_fd=directory), "w", encoding="utf-8") as file,
    ):
        file.write(content)


def read_output(path: str) -> str:
    """The text of the file at the absolute ``path``, for which `create_output` raised FileExistsError.

    Raises the same errors as `create_output`.
    """
    from reactor.hostfs import open_content

    with open(open_content(path), encoding="utf-8", errors="replace") as file:
        return file.read()


@contextmanager
def _opened(path: str) -> Iterator[int | None]:
    """An O_PATH descriptor of the file that ``path`` leads to through symlinks; None if there is no file.

    /dev/stdout may lead to a pipe, which has no path.
    """
    from reactor.hostfs import open_resolved

    try:
        handle = open_resolved(os.path.abspath(path))
    except FileNotFoundError:
        if not os.path.exists(path):
            yield None
            return
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if stat.S_ISREG(os.fstat(handle).st_mode):  # it was created just now
            os.close(handle)
            raise
    try:
        yield handle
    finally:
        os.close(handle)


def _umask() -> int:
    """The umask of this process: the permissions that a new file must not have."""
    os.umask(mask := os.umask(0o077))
    return mask
