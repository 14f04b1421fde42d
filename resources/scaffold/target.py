"""The tree on the disk: compared through an index, so that only files whose stamp has moved are read."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from reactor import ResourceError
from reactor.hostfs import (
    Attributes,
    Change,
    Explaining,
    Stamp,
    is_litter,
    is_temporary_name,
    mount_points_in,
    opened_listing,
    settled,
    stamp_of,
)
from reactor.resources.scaffold.files import Accepted, holds_just
from reactor.resources.scaffold.state import Desired, Difference, ScaffoldState

_CROWD = 1000
"""Names beside those of the scaffold; to go through them takes two milliseconds."""
_FILE_MODE = 0o644
_DIRECTORY_MODE = 0o755
_PERMISSIONS = 0o777


class TargetTree:
    """What is below ``root``, but for what is at or below the absolute paths ``spared``: that is of others."""

    def __init__(self, root: str, spared: Collection[str] = ()) -> None:
        self.root = root
        self._spared = frozenset(os.path.relpath(path, root) for path in spared)
        self.kept = frozenset(above for path in spared for above in _directories_above(path, root))
        """Directories that are not removed when they are empty: what is spared belongs in them."""
        self._same: dict[str, tuple[Stamp, str]] = {}
        """The stamp with which a file last held this text."""
        self._accepted: dict[str, Accepted] = {}
        """What commands made of a file."""
        self._doubted: set[str] = set()
        """Files that are to be made anew, whatever they hold."""
        self._desired: Desired | None = None
        self._texts: Mapping[str, str] = {}
        self._paths: dict[str, str] = {}
        """The absolute path of each file of the scaffold, in order: to join thousands takes a millisecond."""
        self._files: dict[str, Difference | None] = {}
        """What differs at each path of the scaffold, in order."""
        self._missing: set[str] = set()
        self._others: set[str] = set()
        self._mounted: frozenset[str] = frozenset()
        """Where something is mounted below the root: what is in there and no file of the scaffold is not of this tree."""
        self._directories: tuple[Difference, ...] = ()
        self._empty: set[str] = set()
        """Directories below the root with no file in them, however deep."""

    def compare(self, files: Mapping[str, str], desired: Desired) -> ScaffoldState:
        """The state of the tree, of which ``files`` tells what it is to hold. Raises ResourceError."""
        found = dict(self._walk())
        self._desired = None  # until the index is whole again
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

    @property
    def is_crowded(self) -> bool:
        """Whether there is so much beside the files of the scaffold that a look at a few of them takes long."""
        return len(self._others) > _CROWD

    def compare_only(
        self, paths: Iterable[str], files: Mapping[str, str], desired: Desired
    ) -> ScaffoldState | None:
        """The same, looking at these paths only; None when that does not do: a directory or a template is another."""
        if desired != self._desired or self._directories or self._empty:
            return None
        if files is not self._texts and files.keys() != self._texts.keys():
            return None
        self._texts = files
        for path in paths:
            with Explaining(f"read {self.absolute(path)}"):
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
            litter=tuple(path for path in map(self.absolute, sorted(temporary)) if self.is_litter(path)),
        )

    def _in_order(self, directories: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self.absolute, sorted(directories, reverse=True)))

    def _is_left_alone(self, path: str) -> bool:
        """Whether ``path``, which is no file of the scaffold, belongs to others. What a killed run left does not."""
        return _is_within(path, self._spared) or (_is_within(path, self._mounted) and not _is_temporary(path))

    def _find_mounted(self) -> frozenset[str]:
        with suppress(OSError):
            top = os.path.realpath(self.root)
            points = mount_points_in(top)
            return frozenset(os.path.relpath(point, top) for point in points if point != top)
        return frozenset()

    def is_litter(self, path: str) -> bool:
        """Whether the temporary file at the absolute ``path`` is ours or the owner's, and no living process writes it."""
        return is_litter(path, 0 if self._desired is None else self._desired.uid or 0)

    def doubt(self, path: str) -> None:
        """Take the file at the absolute ``path`` for wrong until it is accepted: its commands have not all succeeded."""
        self._doubted.add(os.path.relpath(path, self.root))

    def accept(self, path: str, made: str, before: Attributes) -> None:
        """Take what the file at the absolute path ``made`` holds for what the template of ``path`` makes.

        Commands have made it of the text, and of a file that had the attributes ``before``.
        """
        relative = os.path.relpath(path, self.root)
        with Explaining(f"read {path}"):
            former = self._accepted.get(relative)
            self._accepted[relative] = Accepted.at(made, self._texts[relative], before, former)
        self._doubted.discard(relative)

    def has_accepted(self, path: str) -> bool:
        """Whether it is known what commands make of the file at the absolute ``path``, as its template is now."""
        relative = os.path.relpath(path, self.root)
        accepted = self._accepted.get(relative)
        return accepted is not None and accepted.text == self._texts[relative]

    def text_of(self, path: str) -> str:
        """What the template of the file at the absolute ``path`` makes."""
        return self._texts[os.path.relpath(path, self.root)]

    def absolute(self, path: str) -> str:
        """The absolute path of one from the root on."""
        return os.path.join(self.root, path) if path else self.root

    def _walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """All that is there, without following symlinks. The root has the empty path.

        Without recursion: whoever owns the tree may make it deeper than the stack.
        """
        pending = [""]
        while pending:
            directory = pending.pop()
            absolute = self.absolute(directory)
            with Explaining(f"read {absolute}"):
                try:
                    found = os.lstat(absolute)
                except FileNotFoundError:
                    continue
                if not stat.S_ISDIR(found.st_mode):
                    raise ResourceError(
                        f"{absolute} is not a directory", "move it away, or name another target"
                    )
                yield directory, found
                with opened_listing(absolute) as entries:
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
        accepted = self._accepted.get(path)
        if accepted is not None and accepted.text == text:
            desired = accepted.adjust(desired)
        wanted = _attributes(found, desired.uid, desired.gid, desired.file_mode, _FILE_MODE)
        if not stat.S_ISREG(found.st_mode) or not self._holds(path, text, found):
            return Difference(absolute, wanted, text, _changes(found, wanted))
        changes = _changes(found, wanted)
        return Difference(absolute, wanted, None, changes) if changes else None

    def _holds(self, path: str, text: str, found: os.stat_result) -> bool:
        """Whether the regular file at ``path`` holds this text, or what commands made of it."""
        if path in self._doubted:
            return False
        stamp, now = stamp_of(found), time.time_ns()
        if self._same.get(path) == (stamp, text):
            return True
        with Explaining(f"read {self.absolute(path)}"):
            same = self._is_as_wanted(path, text, found.st_size)
        if same and settled(found, now):
            self._same[path] = stamp, text
        return same

    def _is_as_wanted(self, path: str, text: str, size: int) -> bool:
        """A file of another size is not read: whoever owns the tree may have made it of any length."""
        absolute, wanted = self.absolute(path), text.encode()
        if size == len(wanted) and holds_just(absolute, wanted):
            return True
        accepted = self._accepted.get(path)
        return accepted is not None and accepted.text == text and accepted.is_at(absolute, size)

    def _compare_directories(
        self, needed: Iterable[str], found: Mapping[str, os.stat_result], desired: Desired
    ) -> Iterator[Difference]:
        for path in needed:
            there = found.get(path)
            if there is not None and not stat.S_ISDIR(there.st_mode):
                hint = "move it away: a directory of the scaffold belongs there"
                raise ResourceError(f"{self.absolute(path)} is not a directory", hint)
            wanted = _attributes(there, desired.uid, desired.gid, desired.directory_mode, _DIRECTORY_MODE)
            if there is None:
                yield Difference(self.absolute(path), wanted)
            elif changes := _changes(there, wanted):
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
    """The directories between ``root`` and ``path``, itself included, which may be one."""
    while path != root:
        yield path
        path = os.path.dirname(path)


def _directories_of(files: Iterable[str]) -> list[str]:
    """The root and all directories that files are in, each before what is in it."""
    found = {""}
    for path in files:
        while (path := os.path.dirname(path)) not in found:
            found.add(path)
    return sorted(found)


def _empty_directories(found: Mapping[str, os.stat_result]) -> set[str]:
    """The directories below the root, among what was ``found``, with no file in them."""
    files = (path for path, entry in found.items() if not stat.S_ISDIR(entry.st_mode))
    return {path for path, entry in found.items() if stat.S_ISDIR(entry.st_mode)}.difference(
        _directories_of(files)
    )


def _is_temporary(path: str) -> bool:
    return is_temporary_name(os.path.basename(path))


def _attributes(
    found: os.stat_result | None, uid: int | None, gid: int | None, mode: int | None, default: int
) -> Attributes:
    """What is asked for, and for the rest what is there, or what a new one gets."""
    if found is None:
        return Attributes(
            os.geteuid() if uid is None else uid,
            os.getegid() if gid is None else gid,
            default if mode is None else mode,
        )
    kept = default if stat.S_ISLNK(found.st_mode) else found.st_mode & _PERMISSIONS
    return Attributes(
        found.st_uid if uid is None else uid,
        found.st_gid if gid is None else gid,
        kept if mode is None else mode,
    )


def _changes(found: os.stat_result, wanted: Attributes) -> tuple[Change, ...]:
    pairs = (
        ("owner", str(found.st_uid), str(wanted.uid)),
        ("group", str(found.st_gid), str(wanted.gid)),
        ("mode", f"{found.st_mode & _PERMISSIONS:04o}", f"{wanted.mode:04o}"),
    )
    return tuple(Change(*pair) for pair in pairs if pair[1] != pair[2])
