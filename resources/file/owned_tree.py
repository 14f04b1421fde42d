"""Owner, group and modes of everything in a directory, for ``recurse``.

Only directories and regular files are looked at. Symlinks are neither followed nor changed. Mounted file
systems and the paths of other resources are not part of the tree. A file that may be another user's second name for a file
elsewhere is never changed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import trio

from reactor import Action, ChangedPaths, Diff, Plan, ResourceError, in_thread
from reactor.hostfs import (
    Attributes,
    Change,
    ErrorContext,
    FileType,
    attributes_diff,
    entries_of,
    mounted_below,
    open_path,
    refuse_foreign_link,
    set_attributes,
)
from reactor.resources.file.state import FileState, Wrong

if TYPE_CHECKING:
    from reactor.resources.file.reconciler import Reconciler

_SPECIAL_BITS = 0o7000
_EXECUTABLE = 0o111
_AT_ONCE = 100
"""The most paths that are looked at without a thread, which takes about one millisecond."""
_SHOWN = 100
"""The most files whose diff is shown; the others are only counted."""


class DesiredTree(NamedTuple):
    """The desired state below the directory at ``path``.

    ``directory_mode`` has the bits in ``special``, too; a directory keeps its other special bits. ``file_mode`` is None
    if the modes of files are not managed. ``spared`` are the paths that other resources manage.
    """

    path: str
    directory_mode: int
    special: int
    file_mode: int | None
    spared: Collection[str]


class TreeReconciler:
    """Another reconciler for the directory itself, and the entries below it that differ. Events name the paths to look at."""

    def __init__(self, itself: Reconciler, desired: DesiredTree, changed_paths: ChangedPaths) -> None:
        self._itself = itself
        self._tree = desired
        self._changed_paths = changed_paths
        self._wrong: dict[str, Wrong] = {}
        self._touched: frozenset[str] | None = None
        self._mounted: frozenset[str] = frozenset()

    def expect_file(self) -> None:
        """Do nothing: it is a directory."""

    async def observe(self) -> FileState:
        """The state of the directory; ``wrong`` is what differs below it. Raises ResourceError."""
        touched, self._touched = self._touched, None
        paths = self._changed_paths.take() if touched is None else touched
        try:
            state = await self._itself.observe()
            if state.type is not FileType.DIRECTORY:
                self._changed_paths.lose()
                return state
            await self._look(paths, state.wanted)
        except BaseException:
            self._changed_paths.lose()
            raise
        return state._replace(wrong=tuple(self._wrong.values())) if self._wrong else state

    async def _look(self, paths: frozenset[str] | None, wanted: Attributes) -> None:
        if paths is None:
            found = await in_thread(lambda: {each.path: each for each in self._walk(wanted)})
            self._wrong = found
            return
        look = partial(self._look_at, paths, wanted)
        found = await in_thread(look) if len(paths) > _AT_ONCE else look()
        for path in paths:
            self._wrong.pop(path, None)
        self._wrong |= found

    def _look_at(self, paths: Iterable[str], wanted: Attributes) -> dict[str, Wrong]:
        found = {}
        device = os.lstat(self._tree.path).st_dev
        for path in paths:
            if path.startswith(f"{self._tree.path}/") and not self._is_spared(path):
                with suppress(OSError, ResourceError):  # it is gone, or behind a symlink by now
                    handle = open_path(path)
                    try:
                        seen = os.fstat(handle)
                    finally:
                        os.close(handle)
                    if not _is_elsewhere(seen, device) and (wrong := self._judge(path, seen, wanted)):
                        found[path] = wrong
        return found

    def _walk(self, wanted: Attributes) -> Iterator[Wrong]:
        """The entries of the whole tree that differ. Without recursion, since a user may nest it deeper than the stack."""
        root = self._tree.path
        self._mounted = mounted_below(root)
        device = os.lstat(root).st_dev
        pending = [root]
        while pending:
            directory = pending.pop()
            with ErrorContext(f"read {directory}"), suppress(FileNotFoundError, NotADirectoryError):
                for path, seen in entries_of(directory, self._mounted):
                    if _is_elsewhere(seen, device) or self._is_spared(path):
                        continue
                    if stat.S_ISDIR(seen.st_mode):
                        pending.append(path)
                    if wrong := self._judge(path, seen, wanted):
                        yield wrong

    def _is_spared(self, path: str) -> bool:
        """Whether ``path`` is at or below something that another resource manages, or that is mounted."""
        spared, root = (self._tree.spared, self._mounted), self._tree.path
        while (spared[0] or spared[1]) and len(path) > len(root):
            if path in spared[0] or path in spared[1]:
                return True
            path = path.rpartition("/")[0]
        return False

    def _judge(self, path: str, seen: os.stat_result, wanted: Attributes) -> Wrong | None:
        mode = stat.S_IMODE(seen.st_mode)
        if stat.S_ISDIR(seen.st_mode):
            right = self._tree.directory_mode | mode & _SPECIAL_BITS & ~self._tree.special
        elif stat.S_ISREG(seen.st_mode):
            right = self._file_mode(mode, is_changed=(seen.st_uid, seen.st_gid) != wanted[:2])
        else:
            return None
        pairs = (
            ("owner", seen.st_uid, wanted.uid, "d"), ("group", seen.st_gid, wanted.gid, "d"), ("mode", mode, right, "04o"),
        )  # fmt: skip
        changes = tuple(
            Change(name, format(old, shape), format(new, shape))
            for name, old, new, shape in pairs
            if old != new
        )
        if not changes:
            return None
        refusal = None if seen.st_nlink == 1 or stat.S_ISDIR(seen.st_mode) else _refusal(path)
        return Wrong(path, Attributes(wanted.uid, wanted.gid, right), changes, refusal)

    def _file_mode(self, mode: int, *, is_changed: bool) -> int:
        """The desired mode of a file: users that may read an executable file may execute it, as with Ansible's ``X``.

        A file whose owner or group is changed loses setuid and setgid: by then it may be another one.
        """
        desired = self._tree.file_mode
        if desired is None:
            return mode & ~_SPECIAL_BITS if is_changed else mode
        is_program = mode & stat.S_IXUSR and not desired & _EXECUTABLE
        return desired | (desired & 0o444) >> 2 if is_program else desired

    def plan(self, state: FileState) -> Plan:
        """The plan for the directory, and one action for all below it. Raises ResourceError."""
        plan = self._itself.plan(state)
        if state.type is FileType.SYMLINK and not plan:
            words = f"{self._tree.path} is a symlink, which recurse does not follow"
            raise ResourceError(words, "name the directory that it leads to")
        todo = [each for each in state.wrong if each.refusal is None]
        if not todo:
            _raise_refusals(state.wrong)
            return plan
        names = dict.fromkeys(change.attribute for each in todo for change in each.changes)
        count = "1 file or directory" if len(todo) == 1 else f"{len(todo)} files and directories"
        words = f"set {', '.join(names)} of {count} in it"
        action = Action(
            would=f"Would have {words}",
            did=words,
            run=partial(self._set_all, todo),
            diff=partial(_diff_of, todo),
            is_proof=True,
        )
        return (*plan, action)

    async def _set_all(self, todo: Iterable[Wrong]) -> None:
        self._touched = frozenset(each.path for each in todo)
        for each in todo:
            await trio.lowlevel.checkpoint()  # a tree may be large, and other repairs do not wait for it
            try:
                await set_attributes(each.path, each.wanted, self._tree.special)
            except ResourceError:
                if os.path.lexists(each.path):  # noqa: ASYNC240 - the disk has just answered
                    self._touched = None
                    raise

    async def preflight(self, state: FileState) -> None:
        """Raise the ResourceError with which the change would fail: also for a file that must not be changed."""
        await self._itself.preflight(state)
        _raise_refusals(state.wrong)


def _is_elsewhere(seen: os.stat_result, device: int) -> bool:
    """Whether it is a directory of another file system. On an overlay, files may show any device."""
    return stat.S_ISDIR(seen.st_mode) and seen.st_dev != device


def _raise_refusals(wrong: Iterable[Wrong]) -> None:
    for each in wrong:
        if each.refusal is not None:
            raise each.refusal


def _refusal(path: str) -> ResourceError | None:
    try:
        handle = open_path(path)
        try:
            refuse_foreign_link(handle, path)
        finally:
            os.close(handle)
    except OSError:
        return None
    except ResourceError as error:
        return error
    return None


async def _diff_of(todo: list[Wrong]) -> Diff:
    diffs = [await attributes_diff(each.path, each.changes) for each in todo[:_SHOWN]]
    return partial(_joined, diffs, len(todo) - len(diffs))


async def _joined(diffs: Iterable[Diff], left: int) -> str:
    return "".join([await diff() for diff in diffs]) + (
        f"and {left} more files and directories\n" if left else ""
    )
