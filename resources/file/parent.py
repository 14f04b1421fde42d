"""Opens the directory that a path is in, and not one to which a stranger leads.

Root writes below directories of other users, and whoever owns one may put a symlink in it at any time: what root then
writes, gives away or removes is elsewhere. So a symlink on the way is followed only if it is root's or our own, or
belongs to who owns the directory that is reached. systemd-tmpfiles calls anything else an unsafe transition.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from types import TracebackType

from reactor import ResourceError
from resources.file.owners import names_of

# A handle is enough to act in a directory: not every one that may be entered may also be read, as /home.
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_SYMLINKS = 40
"""As many as the kernel follows."""
_MOST_REMEMBERED = 10_000
_DEFAULT_MODE = 0o755

_straight: dict[str, tuple[int, int, int]] = {}
"""Device, inode and owner of directories that were reached without a symlink: to ask again takes longer than to write."""


class Parent:
    """A handle (O_PATH) of the parent directory of ``path``, and the name in it, for a block.

    Raises OSError, and ResourceError where there is no directory, or one to which a stranger leads.
    """

    __slots__ = ("_base", "_directory", "_parent")

    def __init__(self, path: str) -> None:
        parent, _, self._base = path.rpartition("/")
        self._parent = parent or "/"

    def __enter__(self) -> tuple[int, str]:
        try:
            self._directory = open_directory(self._parent)
        except (FileNotFoundError, NotADirectoryError) as error:
            hint = f"declare file#{self._parent} with ensure: directory, to go before this"
            words = f'"{self._parent}" is not a directory'
            raise ResourceError(words, hint, missing=self._parent) from error
        return self._directory, self._base or "."

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._directory)


def make_missing(directory: str) -> None:
    """Make the absolute ``directory``, and what is missing above it. Raises as `Parent`."""
    missing = []
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    for path in reversed(missing):
        with Parent(path) as (parent, base), suppress(FileExistsError):
            os.mkdir(base, _DEFAULT_MODE, dir_fd=parent)


def first_made(directory: str) -> str:
    """The first path that has to be made for the absolute ``directory``, where that is missing: itself, or one above it."""
    while not os.path.lexists(parent := os.path.dirname(directory)):
        directory = parent
    return directory


def open_directory(path: str) -> int:
    """A handle of the directory at the absolute ``path``.

    Raises OSError, and ResourceError for a symlink on the way that must not be followed.
    """
    directory = os.open(path, _DIRECTORY)
    found = os.fstat(directory)
    identity = (found.st_dev, found.st_ino, found.st_uid)
    if _straight.get(path) == identity:
        return directory
    if _is_straight(directory, path):
        if len(_straight) >= _MOST_REMEMBERED:
            _straight.clear()
        _straight[path] = identity
        return directory
    os.close(directory)
    return _walk(path)


def _is_straight(directory: int, path: str) -> bool:
    """Whether no symlink was followed on the way to the descriptor, however soon one may be there."""
    try:
        return os.readlink(f"/proc/self/fd/{directory}") == path
    except OSError:  # there is no /proc
        return False


def _walk(path: str) -> int:
    """The same, step by step: a symlink that was looked at is the one that is followed."""
    names = _parts(path)
    owners: list[int] = []
    here = os.open("/", _STEP)
    try:
        while names:
            step = os.open(names.pop(), _STEP, dir_fd=here)
            found = os.fstat(step)
            if not stat.S_ISLNK(found.st_mode):
                os.close(here)
                here = step
                continue
            target = os.readlink("", dir_fd=step)
            os.close(step)
            owners.append(found.st_uid)
            if len(owners) > _MOST_SYMLINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            names += _parts(target)
            if target.startswith("/"):
                os.close(here)
                here = os.open("/", _STEP)
        _refuse_strangers(path, owners, os.fstat(here).st_uid)
        return os.open(".", _DIRECTORY, dir_fd=here)
    finally:
        os.close(here)


def _parts(path: str) -> list[str]:
    """The names in ``path``, the first one last."""
    return [name for name in reversed(path.split("/")) if name]


def _refuse_strangers(path: str, owners: list[int], reached: int) -> None:
    for owner in owners:
        if owner not in (0, os.geteuid(), reached):
            stranger, other = names_of(owner, 0)[0], names_of(reached, 0)[0]
            words = f"{path} leads through a symlink of {stranger} into a directory of {other}"
            hint = "name the directory itself, or see who made the symlink and give it to root: chown -h root"
            raise ResourceError(f"{words}; refusing to follow it", hint)
