"""Finds the files of a directory that are due, and removes them.

The directory may belong to another user, who changes it meanwhile. No symlink in it is followed, and a file is
removed only if it is still the same file, and still due.
"""

from __future__ import annotations

import errno
import math
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import trio

from reactor import ResourceError, in_thread
from reactor.hostfs import (
    ErrorContext,
    Parent,
    entries_of,
    mounted_below,
    open_path,
    refuse_forbidden,
    refuse_read_only,
    refuse_unchangeable,
    remove_same,
)
from reactor.resources.tidy.rule import Rule

_AT_ONCE = 100
"""The most paths that are looked at without a thread, which takes about one millisecond."""


class Due(NamedTuple):
    """A file that is due, or an empty directory."""

    path: str
    device: int
    inode: int
    size: int
    is_directory: bool = False


class Found(NamedTuple):
    """The files that are due, directories last, the time at which the next file is, and why not everything was read."""

    due: tuple[Due, ...] = ()
    next_at: float = math.inf
    unread: ResourceError | None = None


class Sweep:
    """The files in ``root`` by ``rule``; ``spared`` are paths that other resources manage.

    It records when each file is due, so that an event costs no more than a look at its path.
    """

    def __init__(
        self, root: str, rule: Rule, *, recurse: bool, directories: bool, spared: Collection[str]
    ) -> None:
        self._root = root
        self._rule = rule
        self._recurse = recurse
        self._directories = directories
        self._spared = spared
        self._mounted: frozenset[str] = frozenset()
        self._due_at: dict[str, float] = {}
        self._empty: list[Due] = []
        self._unread: ResourceError | None = None
        """Why one of the directories below the root could not be read."""
        self._device = -1

    async def look(self, paths: Collection[str] | None) -> Found:
        """The files that are due, after events at ``paths``; None: everything is read. Raises ResourceError."""
        if paths is None:
            await in_thread(self._read_all)
        elif len(paths) > _AT_ONCE:
            await in_thread(self._read, paths)
        else:
            self._read(paths)
        now = time.time()
        due = [path for path, at in self._due_at.items() if at <= now]
        later = min((at for at in self._due_at.values() if at > now), default=math.inf)
        found = await in_thread(self._details, due) if len(due) > _AT_ONCE else self._details(due)
        return Found((*sorted(found), *self._empty), later, self._unread)

    def _details(self, paths: Iterable[str]) -> list[Due]:
        found = []
        for path in paths:
            if (seen := _stat_of(path)) is None or self._rule.due_at(
                os.path.basename(path), seen
            ) > time.time():
                self._note(path, seen)
            else:
                found.append(Due(path, seen.st_dev, seen.st_ino, seen.st_size))
        return found

    def _note(self, path: str, seen: os.stat_result | None) -> None:
        at = math.inf if seen is None else self._rule.due_at(os.path.basename(path), seen)
        if at == math.inf:
            self._due_at.pop(path, None)
        else:
            self._due_at[path] = at

    def _read(self, paths: Iterable[str]) -> None:
        self._empty = []  # found only when everything is read
        for path in paths:
            above = path.rpartition("/")[0]
            is_inside = path.startswith(f"{self._root}/") if self._recurse else above == self._root
            if is_inside and not self._is_spared(path):
                self._note(path, _stat_of(path))

    def _read_all(self) -> None:
        """Read the whole tree. Without recursion, since a user may nest it deeper than the stack."""
        self._mounted = mounted_below(self._root)
        self._due_at, self._unread = {}, None
        above: dict[str, str] = {}
        kept = {os.path.dirname(point) for point in self._mounted}
        seen_directories: dict[str, os.stat_result] = {}
        pending = [self._root]
        now = time.time()
        while pending:
            directory = pending.pop()
            for path, seen in self._readable_entries(directory, kept):
                if stat.S_ISDIR(seen.st_mode):
                    is_ours = self._recurse and not self._is_spared(path) and seen.st_dev == self._device
                    if is_ours:
                        pending.append(path)
                        above[path], seen_directories[path] = directory, seen
                    else:
                        kept.add(directory)
                    continue
                at = math.inf if self._is_spared(path) else self._rule.due_at(os.path.basename(path), seen)
                if at < math.inf:
                    self._due_at[path] = at
                if at > now:
                    kept.add(directory)
        self._empty = list(self._emptied(above, kept, seen_directories, now)) if self._directories else []

    def _readable_entries(self, directory: str, kept: set[str]) -> Iterator[tuple[str, os.stat_result]]:
        """The entries. One that can't be read is noted, and kept: with it, its owner could stop the rest."""
        try:
            yield from self._entries(directory)
        except ResourceError as error:
            if directory == self._root:
                raise
            self._unread = self._unread or error
            kept.add(directory)

    def _entries(self, directory: str) -> Iterator[tuple[str, os.stat_result]]:
        is_root = directory == self._root
        with ErrorContext(f"read {directory}"):
            try:
                if is_root and (found := _stat_of(directory)) is not None:
                    self._device = found.st_dev
                yield from entries_of(directory, self._mounted)
            except FileNotFoundError:
                return
            except NotADirectoryError as error:
                if is_root:
                    words = f"{directory} is not a directory that can be tidied"
                    hint = "name a directory, not a symlink to one"
                    raise ResourceError(words, hint, missing=directory) from error

    def _emptied(
        self, above: dict[str, str], kept: set[str], seen: dict[str, os.stat_result], now: float
    ) -> Iterator[Due]:
        """The directories that are old and will be empty, the deepest first."""
        for path in sorted(above, key=lambda each: each.count("/"), reverse=True):
            if path in kept or self._rule.old_at(seen[path]) > now:
                kept.add(above[path])
            else:
                yield Due(path, seen[path].st_dev, seen[path].st_ino, 0, is_directory=True)

    def _is_spared(self, path: str) -> bool:
        """Whether ``path`` is at or below something that another resource manages, or that is mounted."""
        while (self._spared or self._mounted) and len(path) > len(self._root):
            if path in self._spared or path in self._mounted:
                return True
            path = path.rpartition("/")[0]
        return False

    async def remove(self, due: Iterable[Due]) -> None:
        """Remove ``due``. Raises ResourceError for the first that can't be removed, after all others."""
        first: ResourceError | None = None
        for each in due:
            await trio.lowlevel.checkpoint()  # there may be many, and other repairs do not wait for them
            try:
                await self._remove_one(each)
            except ResourceError as error:
                first = first or error
        if first is not None:
            raise first

    async def _remove_one(self, due: Due) -> None:
        seen = _stat_of(due.path)
        if seen is None or (seen.st_dev, seen.st_ino) != (due.device, due.inode):
            return
        if due.is_directory:
            try:
                await remove_same(due.path, due.device, due.inode)
            except ResourceError as error:
                if not _is_not_empty(error):
                    raise
        elif self._rule.due_at(os.path.basename(due.path), seen) <= time.time():
            await remove_same(due.path, due.device, due.inode)


def _is_not_empty(error: ResourceError) -> bool:
    """Whether a directory was not removed because something was created in it meanwhile, so that it stays."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.ENOTEMPTY, errno.EEXIST)


async def refuse_unremovable(due: Collection[Due]) -> None:
    """Raise the ResourceError of the first of ``due`` that certainly can't be removed.

    Its file system is read-only, or chattr(1) protects it or its directory.
    """
    if len(due) > _AT_ONCE:
        await in_thread(_refuse_unremovable, due)
    else:
        _refuse_unremovable(due)


def _refuse_unremovable(due: Collection[Due]) -> None:
    for each in due:
        with suppress(FileNotFoundError), ErrorContext(f"remove {each.path}"):
            with Parent(each.path) as (directory, base):
                refuse_read_only(directory)
                refuse_unchangeable(directory)
                refuse_forbidden(directory, base)
            handle = open_path(each.path)
            try:
                mode = os.fstat(handle).st_mode
                # To open a device for its flags may do something.
                if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                    refuse_unchangeable(handle)
            finally:
                os.close(handle)


def _stat_of(path: str) -> os.stat_result | None:
    """The stat of the thing itself; None if it is gone, or if the way to it leads through a stranger's symlink."""
    try:
        handle = open_path(path)
    except (OSError, ResourceError):
        return None
    try:
        return os.fstat(handle)
    finally:
        os.close(handle)
