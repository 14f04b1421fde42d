"""Writes members into a directory. No name or link in an archive can make it write outside.

Every path is opened from the directory down, by descriptors, without following any link, so a link can't redirect
later members. The target of a symbolic link may have ``..`` only at its beginning, and only as often as the link has
parent directories, which are never links; the rest of the target only goes down. So even a chain of links stays
inside. Nothing is ever replaced: a name that occurs twice is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from reactor.unpacking.members import Budget, Member, MemberType, UnpackingError

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 128 * 1024
DEEPEST = 100
"""The most directories in a path."""
_FILE_BITS, _DIRECTORY_BITS = 0o600, 0o700
"""The permission bits that the owner always gets."""
_ALLOWED_BITS = 0o755
"""The permission bits that may remain: other users can't write, and there is no setuid or setgid."""
_LATEST = 1 << 33

Parts = tuple[str, ...]


class Tree:
    """Fills the empty directory ``root``. ``owner`` gets everything in it; None means the user of this process.

    ``report`` is called with each member before it is created, and again after each chunk of its content, with the
    bytes written so far. The first ``strip`` components of each path, also in the targets of hard links, are dropped
    after the whole path was checked. A member without further components is left out.
    """

    def __init__(
        self,
        root: str,
        budget: Budget,
        owner: tuple[int, int] | None,
        report: Callable[[Member, int], None],
        strip: int = 0,
    ) -> None:
        self._root = os.open(root, _DIRECTORY)
        try:
            self._descriptor = os.dup(self._root)
        except OSError:
            os.close(self._root)
            raise
        self._budget = budget
        self._owner = owner if owner != (os.geteuid(), os.getegid()) else None
        self._report = report
        self._strip = strip
        self._left_out = self._kept = 0
        self._written = 0
        self._here: Parts = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
        os.close(self._root)

    def add(self, member: Member) -> None:
        """Create ``member``. Raises UnpackingError if it is forbidden, and OSError if creating it fails."""
        self._budget.take_member()
        self._report(member, self._written)
        whole = _parts(member.name)
        parts = whole[self._strip :]
        if whole and not parts:
            self._left_out += 1
            return
        self._kept += 1
        if member.type is MemberType.DIRECTORY:
            self._enter(parts)
            if parts:
                self._settle(self._descriptor, member, _DIRECTORY_BITS)
            return
        if not parts:
            raise UnpackingError(f"the archive holds {member.type.value} without a name")
        self._enter(parts[:-1])
        try:
            self._make(member, parts)
        except FileExistsError as error:
            raise UnpackingError(f"the archive holds {member.name!r} twice") from error

    def require_some(self) -> None:
        """Raise UnpackingError if ``strip`` left out all members."""
        if self._left_out and not self._kept:
            words = (
                f"nothing in the archive has more than {self._strip} path component{'s' * (self._strip > 1)}"
            )
            raise UnpackingError(words, "lower strip_components")

    def _make(self, member: Member, parts: Parts) -> None:
        base = parts[-1]
        if member.type is MemberType.FILE:
            self._write(member, base)
        elif member.type is MemberType.SYMLINK:
            _check_target(member, depth=len(parts) - 1)
            os.symlink(member.target, base, dir_fd=self._descriptor)
            if self._owner is not None:
                os.chown(base, *self._owner, dir_fd=self._descriptor, follow_symlinks=False)
        else:
            self._link(member, base)

    def _write(self, member: Member, base: str) -> None:
        descriptor = os.open(base, _NEW, _FILE_BITS, dir_fd=self._descriptor)
        try:
            if member.content is not None:
                with member.content() as content:
                    while piece := content.read(_PIECE):
                        self._written += len(piece)
                        self._budget.allow(self._written)
                        _write_all(descriptor, piece)
                        self._report(member, self._written)
            self._settle(descriptor, member, _FILE_BITS)
            if member.mtime is not None and 0 <= member.mtime < _LATEST:
                os.utime(descriptor, (member.mtime, member.mtime))
        finally:
            os.close(descriptor)

    def _link(self, member: Member, base: str) -> None:
        """Create a hard link to a file that was unpacked before. No other target is allowed: it could be outside."""
        *above, target = _parts(member.target)[self._strip :] or ("",)
        missing = f"{member.name!r} in the archive is a hard link to {member.target!r}, which is not a file before it"
        try:
            directory = self._open(tuple(above), create=False)
        except FileNotFoundError as error:
            raise UnpackingError(missing) from error
        try:
            with suppress(FileNotFoundError):
                found = os.stat(target, dir_fd=directory, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    os.link(
                        target,
                        base,
                        src_dir_fd=directory,
                        dst_dir_fd=self._descriptor,
                        follow_symlinks=False,
                    )
                    return
        finally:
            os.close(directory)
        raise UnpackingError(missing)

    def _enter(self, parts: Parts) -> None:
        """Open a directory, and create it if missing.

        Keeps the last one open, since members are mostly sorted by directory.
        """
        if parts != self._here:
            descriptor = self._open(parts, create=True)
            os.close(self._descriptor)
            self._here, self._descriptor = parts, descriptor

    def _open(self, parts: Parts, *, create: bool) -> int:
        """Return a descriptor of the directory ``parts``. Raises UnpackingError if a component is no directory."""
        here = os.dup(self._root)
        for depth, part in enumerate(parts, start=1):
            try:
                below = self._descend(here, part, create=create)
            except NotADirectoryError as error:
                way = "/".join(parts[:depth])
                words = f"the archive holds {way!r} twice: once as a directory, and once as a file or a link"
                raise UnpackingError(words) from error
            finally:
                os.close(here)
            here = below
        return here

    def _descend(self, here: int, part: str, *, create: bool) -> int:
        try:
            return os.open(part, _DIRECTORY, dir_fd=here)
        except FileNotFoundError:
            if not create:
                raise
        os.mkdir(part, _DIRECTORY_BITS, dir_fd=here)
        below = os.open(part, _DIRECTORY, dir_fd=here)
        try:
            self._give(below, _ALLOWED_BITS)
        except OSError:
            os.close(below)
            raise
        return below

    def _settle(self, descriptor: int, member: Member, at_least: int) -> None:
        self._give(descriptor, member.mode & _ALLOWED_BITS | at_least)

    def _give(self, descriptor: int, mode: int) -> None:
        if self._owner is not None:
            os.fchown(descriptor, *self._owner)
        os.fchmod(descriptor, mode)


def _parts(name: str) -> Parts:
    """Split a path that starts at the root of the archive. Raises UnpackingError if it leaves the root."""
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise UnpackingError(f"the archive holds a path that leads out of its directory: {name!r}")
    if len(parts) > DEEPEST:
        raise UnpackingError(f"the archive is more than {DEEPEST} directories deep: {name[:60]!r}...")
    return parts


def _check_target(member: Member, depth: int) -> None:
    """Raise UnpackingError unless the link stays inside."""
    if not link_stays_inside(member.target, depth):
        words = f"the link {member.name!r} in the archive leads out of its directory, to {member.target!r}"
        raise UnpackingError(words)


def link_stays_inside(target: str, depth: int) -> bool:
    """Whether a link ``depth`` directories below the root, with this target, obeys the rule of the module docstring."""
    steps = [step for step in target.split("/") if step not in ("", ".")]
    up = 0
    while up < len(steps) and steps[up] == "..":
        up += 1
    is_path = bool(target) and not target.startswith("/") and "\0" not in target
    return is_path and up <= depth and ".." not in steps[up:]


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
