"""The tree on the disk, compared through an index: only files whose stamp has changed are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping

from reactor import ResourceError
from reactor.hostfs import (
    Attributes,
    Change,
    ErrorContext,
    is_stale_temporary,
    is_temporary_name,
    mounted_below,
    scan_directory,
)
from reactor.resources.scaffold.files import PERMISSIONS
from reactor.resources.scaffold.state import Desired, Difference, ScaffoldState
from reactor.resources.scaffold.verified_files import VerifiedFiles

_MANY = 1000
"""A number of other files, besides those of the scaffold; iterating over this many takes two milliseconds."""
_FILE_MODE = 0o644
_DIRECTORY_MODE = 0o755


class TargetTree:
    """The tree below ``root``, without the absolute paths ``spared`` and below, which other resources manage."""

    def __init__(self, root: str, spared: Collection[str] = ()) -> None:
        self.root = root
        self._spared = frozenset(os.path.relpath(path, root) for path in spared)
        self.kept = frozenset(above for path in spared for above in _directories_above(path, root))
        """Directories that stay when they are empty, because spared paths are in them."""
        self._verified = VerifiedFiles(root)
        self._desired: Desired | None = None
        self._texts: Mapping[str, str] = {}
        self._paths: dict[str, str] = {}
        """The absolute path of each file of the scaffold, in order; joining thousands of paths takes a millisecond."""
        self._files: dict[str, Difference | None] = {}
        """The difference at each path of the scaffold, in order."""
        self._missing: set[str] = set()
        self._others: set[str] = set()
        self._mounted: frozenset[str] = frozenset()
        """Mount points below the root. Files on them that are not of the scaffold do not belong to this tree."""
        self._directories: tuple[Difference, ...] = ()
        self._empty: set[str] = set()
        """Directories below the root without a file in them, at any depth."""

    def compare(self, files: Mapping[str, str], desired: Desired) -> ScaffoldState:
        """Compare the whole tree with the desired ``files``. Raises ResourceError."""
        found = dict(self._walk())
        self._desired = None  # until the index is complete again
        self._directories = tuple(self._compare_directories(_directories_of(files), found, desired))
        self._texts = files
        self._paths = {path: self.absolute(path) for path in sorted(files)}
        self._files = {
            path: self._compare(path, files[path], found.get(path), desired) for path in self._paths
        }
        self._missing = files.keys() - found.keys()
        self._mounted = self._find_mounted()
        self._others = {
            path
            for path, entry in found.items()
            if path not in files and not stat.S_ISDIR(entry.st_mode) and not self._is_left_alone(path)
        }
        self._empty = {path for path in _empty_directories(found) if not self._is_left_alone(path)}
        self._empty.difference_update(os.path.relpath(path, self.root) for path in self.kept)
        self._desired = desired
        return self._state()

    def read_again(self) -> None:
        """Forget which files were correct."""
        self._verified.read_again()

    @property
    def is_crowded(self) -> bool:
        """Whether there are too many other files: then a check of only a few files takes long, too."""
        return len(self._others) > _MANY

    def compare_only(
        self, paths: Iterable[str], files: Mapping[str, str], desired: Desired
    ) -> ScaffoldState | None:
        """Compare these paths only.

        None if the whole tree must be compared, since a directory or template has changed.
        """
        if desired != self._desired or self._directories or self._empty:
            return None
        if files is not self._texts and files.keys() != self._texts.keys():
            return None
        self._texts = files
        for path in paths:
            with ErrorContext(f"read {self.absolute(path)}"):
                found = _lstat(self.absolute(path))
            if found is not None and stat.S_ISDIR(found.st_mode):
                return None
            if path in files:
                self._files[path] = self._compare(path, files[path], found, desired)
                (self._missing.add if found is None else self._missing.discard)(path)
            elif self._is_left_alone(path):
                continue
            elif found is None and path not in self._others and not _is_temporary(path):
                return None  # it may have been a directory
            else:
                (self._others.discard if found is None else self._others.add)(path)
        return self._state()

    def _state(self) -> ScaffoldState:
        temporary = [path for path in self._others if _is_temporary(path)]
        needed = _directories_of(self._paths) if self._empty else ()
        return ScaffoldState(
            changed=tuple(difference for difference in self._files.values() if difference is not None),
            purged=tuple(map(self.absolute, sorted(self._others.difference(temporary)))),
            directories=self._directories,
            managed=tuple(path for name, path in self._paths.items() if name not in self._missing)
            if self._missing
            else tuple(self._paths.values()),
            empty=self._in_order(self._empty.intersection(needed)),
            empty_others=self._in_order(self._empty.difference(needed)),
            stale_temporaries=tuple(
                path for path in map(self.absolute, sorted(temporary)) if self.is_stale_temporary(path)
            ),
        )

    def _in_order(self, directories: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self.absolute, sorted(directories, reverse=True)))

    def _is_left_alone(self, path: str) -> bool:
        """Whether ``path``, which is no file of the scaffold, stays. Temporary files of a killed run do not."""
        return _is_within(path, self._spared) or (_is_within(path, self._mounted) and not _is_temporary(path))

    def _find_mounted(self) -> frozenset[str]:
        return frozenset(os.path.relpath(path, self.root) for path in mounted_below(self.root))

    def is_stale_temporary(self, path: str) -> bool:
        """Whether the temporary file at the absolute ``path`` is ours or the owner's, and no process writes it."""
        return is_stale_temporary(path, 0 if self._desired is None else self._desired.uid or 0)

    def invalidate(self, path: str) -> None:
        """Treat the file at the absolute ``path`` as wrong until `accept`: not all its commands have succeeded."""
        self._verified.invalidate(os.path.relpath(path, self.root))

    def accept(self, path: str, made: str, before: Attributes) -> None:
        """Treat the file at the absolute path ``made`` as correct for the template of ``path``.

        It is the result of the commands, which started from a file with the attributes ``before``.
        """
        relative = os.path.relpath(path, self.root)
        self._verified.accept(relative, self._texts[relative], made, before)

    def has_accepted(self, path: str) -> bool:
        """Whether `accept` was called for the absolute ``path`` with the text that its template makes now."""
        relative = os.path.relpath(path, self.root)
        text = self._texts.get(relative)
        return text is not None and self._verified.has_accepted(relative, text)

    def text_of(self, path: str) -> str:
        """The rendered text of the file at the absolute ``path``."""
        return self._texts[os.path.relpath(path, self.root)]

    def absolute(self, path: str) -> str:
        """The absolute path of ``path``, which is relative to the root."""
        return os.path.join(self.root, path) if path else self.root

    def _walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """Everything in the tree, without following symlinks. The root has the empty path.

        Without recursion: another user may make the tree deeper than the stack.
        """
        pending = [""]
        while pending:
            directory = pending.pop()
            absolute = self.absolute(directory)
            with ErrorContext(f"read {absolute}"):
                try:
                    found = os.lstat(absolute)
                except FileNotFoundError:
                    continue
                if not stat.S_ISDIR(found.st_mode):
                    hint = "move it away, or name another target"
                    raise ResourceError(f"{absolute} is not a directory", hint, missing=absolute)
                yield directory, found
                with scan_directory(absolute) as entries:
                    for entry in entries:
                        path = os.path.join(directory, entry.name)
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(path)
                        else:
                            yield path, entry.stat(follow_symlinks=False)

    def _compare(
        self, path: str, text: str, found: os.stat_result | None, desired: Desired
    ) -> Difference | None:
        absolute = self.absolute(path)
        if found is None:
            return Difference(
                absolute, _attributes(None, desired.uid, desired.gid, desired.file_mode, _FILE_MODE), text
            )
        if stat.S_ISDIR(found.st_mode):
            raise ResourceError(
                f"{absolute} is a directory, where a file of the scaffold belongs", "move it away"
            )
        desired = self._verified.adjust(desired, path, text)
        wanted = _attributes(found, desired.uid, desired.gid, desired.file_mode, _FILE_MODE)
        if not stat.S_ISREG(found.st_mode) or not self._verified.holds(path, text, found):
            return Difference(absolute, wanted, text, _changes(found, wanted))
        changes = _changes(found, wanted)
        return Difference(absolute, wanted, None, changes) if changes else None

    def _compare_directories(
        self, needed: Iterable[str], found: Mapping[str, os.stat_result], desired: Desired
    ) -> Iterator[Difference]:
        for path in needed:
            there = found.get(path)
            if there is not None and not stat.S_ISDIR(there.st_mode):
                hint = "move it away: a directory of the scaffold belongs there"
                absolute = self.absolute(path)
                raise ResourceError(f"{absolute} is not a directory", hint, missing=absolute)
            wanted = _attributes(there, desired.uid, desired.gid, desired.directory_mode, _DIRECTORY_MODE)
            if there is None:
                yield Difference(self.absolute(path), wanted)
            elif path not in self._spared and (changes := _changes(there, wanted)):
                yield Difference(self.absolute(path), wanted, None, changes)


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _is_within(path: str, tops: Collection[str]) -> bool:
    """Whether ``path`` is one of ``tops``, or below one."""
    while tops and path:
        if path in tops:
            return True
        path = os.path.dirname(path)
    return False


def _directories_above(path: str, root: str) -> Iterator[str]:
    """``path``, which may be a directory, and all directories between it and ``root``."""
    while path != root:
        yield path
        path = os.path.dirname(path)


def _directories_of(files: Iterable[str]) -> list[str]:
    """The root and all directories of the files, each before its content."""
    found = {""}
    for path in files:
        while (path := os.path.dirname(path)) not in found:
            found.add(path)
    return sorted(found)


def _empty_directories(found: Mapping[str, os.stat_result]) -> set[str]:
    """The directories in ``found`` without a file in them, at any depth."""
    files = (path for path, entry in found.items() if not stat.S_ISDIR(entry.st_mode))
    return {path for path, entry in found.items() if stat.S_ISDIR(entry.st_mode)}.difference(
        _directories_of(files)
    )


def _is_temporary(path: str) -> bool:
    return is_temporary_name(os.path.basename(path))


def _attributes(
    found: os.stat_result | None, uid: int | None, gid: int | None, mode: int | None, default: int
) -> Attributes:
    """The desired attributes. An attribute that is not managed stays, or gets the default of a new file."""
    if found is None:
        return Attributes(
            os.geteuid() if uid is None else uid,
            os.getegid() if gid is None else gid,
            default if mode is None else mode,
        )
    kept = default if stat.S_ISLNK(found.st_mode) else found.st_mode & PERMISSIONS
    return Attributes(
        found.st_uid if uid is None else uid,
        found.st_gid if gid is None else gid,
        kept if mode is None else mode,
    )


def _changes(found: os.stat_result, wanted: Attributes) -> tuple[Change, ...]:
    pairs = (
        ("owner", str(found.st_uid), str(wanted.uid)),
        ("group", str(found.st_gid), str(wanted.gid)),
        ("mode", f"{found.st_mode & PERMISSIONS:04o}", f"{wanted.mode:04o}"),
    )
    return tuple(Change(*pair) for pair in pairs if pair[1] != pair[2])
