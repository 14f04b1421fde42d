"""Makes temporary files and puts them in place, and finds stale ones, which a killed run left behind.

A temporary file is named ``.<basename>.<random>.reactor``, so that programs that read every ``*.conf`` of a directory
ignore it. With a validator, which may require the suffix, it is ``.<stem>.<random>.reactor<suffix>``. Its writer
holds a flock(2) on it, which works across containers, too. A temporary file without the lock is stale. The lock is left
out where the file exists for some microseconds, in memory: if it is taken for stale then, the writer begins again.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from random import getrandbits
from typing import TypeVar

import trio

from reactor.hostfs.attributes import Attributes, drop_lists
from reactor.hostfs.safe_open import belongs_to_another, open_path
from reactor.resource.hashes import blake2b
from reactor.resource.own_renames import own_renames
from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread

_Found = TypeVar("_Found")
_NAME = re.compile(r"\.(.+)\.[0-9a-f]{12}\.reactor(\.[^.]*)?", re.DOTALL)
_LONGEST_BASE = 200
_LONGEST_SUFFIX = 100
"""Bytes. A file name has at most 255."""
_SURELY_SHORT = _LONGEST_BASE // 4
"""Characters, each of at most four bytes."""

_AT_ONCE = 2000
"""Directory entries that are read without a thread; they take one millisecond."""

FEW = 20
"""Temporary files of one target that are looked at without a thread; each takes 10 µs."""

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_RECENT = 1.0
"""Seconds for which a listing counts as current."""

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FINISHED = os.O_RDONLY | os.O_CLOEXEC
_READABLE_BY_ALL = 0o444

_NO_REPLACE = 1
"""RENAME_NOREPLACE, see renameat2(2)."""
_renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)  # glibc has it since 2.28

_left: dict[str, str] = {}
"""By target: the temporary file that an attempt could not remove, as in an append-only directory."""


class Listing:
    """The entries of a directory, as a run has first read them.

    ``temporary`` contains the names of the temporary files, by the shortened name of their target. ``_files`` contains
    the names of the regular files, unless a thread read the directory.
    """

    __slots__ = ("_files", "_until", "temporary")

    def __init__(self) -> None:
        self.temporary: dict[str, list[str]] = {}
        self._files: set[str] = set()
        self._until = time.monotonic() + _RECENT

    def collect(self, names: Iterable[str]) -> None:
        """Record the temporary files among ``names``."""
        for name in names:
            if ".reactor" in name and (match := _NAME.fullmatch(name)):
                self.temporary.setdefault(match[1] + (match[2] or ""), []).append(name)

    def collect_entries(self, entries: Iterable[os.DirEntry[str]]) -> None:
        """Record the temporary files and the regular files."""
        found = list(entries)
        self.collect([entry.name for entry in found])
        self._files = {entry.name for entry in found if entry.is_file(follow_symlinks=False)}

    def takes_file(self, base: str) -> bool:
        """Whether the listing is current and contains ``base`` as a regular file. Returns True once for each name."""
        if base not in self._files:
            return False
        self._files.discard(base)
        return time.monotonic() < self._until


_listings: trio.lowlevel.RunVar[dict[str, Listing]] = trio.lowlevel.RunVar("listings")


def temporary_name(base: str, *, same_suffix: bool = False, digits: str = "") -> str:
    """A name for a temporary file that will be renamed to ``base``: a new one, unless it has the 12 ``digits``."""
    # Random digits are no secret: open(2) with O_EXCL makes sure that the name is new.
    random = digits or f"{getrandbits(48):012x}"
    if not same_suffix and len(base) <= _SURELY_SHORT:
        return f".{base}.{random}.reactor"
    stem, suffix = _shortened(base)
    return f".{stem}.{random}.reactor{suffix}" if same_suffix else f".{stem}{suffix}.{random}.reactor"


def lock_temporary(fd: int) -> bool:
    """Lock the temporary file at ``fd`` until it is closed; False when another process has the lock.

    The lock is shared, so that another descriptor of the writer can take it over without a gap.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.ENOLCK  # a file system without locks: no process treats it as stale
    return True


def known_listing(directory: str) -> Listing | None:
    """The listing of ``directory``, if this run has read it."""
    return _known_listings().get(directory)


async def listing_of(directory: str) -> Listing:
    """The listing of ``directory``. A run reads each directory once."""
    if (listing := known_listing(directory)) is None:
        listing = _known_listings()[directory] = await _listed(directory)
    return listing


async def find_stale_temporaries(directory: str, base: str, uid: int) -> tuple[str, ...]:
    """The names of the stale temporary files for ``base`` in ``directory``.

    They belong to us or to ``uid``: a temporary file gets its owner before it is renamed.
    """
    names = await named_temporaries(directory, base)
    return await _aside(names, partial(_stale_among, directory, names, uid))


async def named_temporaries(directory: str, base: str) -> Sequence[str]:
    """The names in ``directory`` that `temporary_name` may have made for ``base``, of anything that is still there."""
    found = (await listing_of(directory)).temporary
    if not found or (names := found.get("".join(_shortened(base)))) is None:
        return ()
    names[:] = await _aside(names, partial(_still_there, directory, names))
    return names


async def _aside(names: Sequence[str], look: Callable[[], _Found]) -> _Found:
    """Return what ``look`` finds among ``names``, in a thread if others have made many: a run leaves one or two."""
    return await in_thread(look) if len(names) > FEW else look()


def _stale_among(directory: str, names: Iterable[str], uid: int) -> tuple[str, ...]:
    return tuple(name for name in names if is_stale_temporary(f"{directory}/{name}", uid))


def _still_there(directory: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if os.path.lexists(f"{directory}/{name}")]


async def _listed(directory: str) -> Listing:
    """The listing of ``directory``. A thread reads a large directory: 100,000 names take 50 ms."""
    listing = Listing()
    is_whole = True
    with suppress(OSError), os.scandir(directory) as entries:  # the check of the file raises it again
        listing.collect_entries(islice(entries, _AT_ONCE))
        is_whole = next(entries, None) is None
    return listing if is_whole else await in_thread(_list, directory)


def is_stale_temporary(path: str, uid: int, directory: int | None = None) -> bool:
    """Whether the temporary file at ``path`` belongs to us or to ``uid``, and no living process writes it.

    ``path`` is absolute, or a name in the directory open at ``directory``.
    """
    try:
        fd = open_path(path, _OPEN) if directory is None else os.open(path, _OPEN, dir_fd=directory)
    except (OSError, ResourceError):
        return False
    try:
        found = os.fstat(fd)
        ours = stat.S_ISREG(found.st_mode) and found.st_uid in (os.geteuid(), uid)
        if ours:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return ours


def _list(directory: str) -> Listing:
    listing = Listing()
    with suppress(OSError):
        listing.collect(os.listdir(directory))
    return listing


def _known_listings() -> dict[str, Listing]:
    try:
        return _listings.get()
    except LookupError:
        listings: dict[str, Listing] = {}
        _listings.set(listings)
        return listings


def _shortened(base: str) -> tuple[str, str]:
    """The stem and the suffix of ``base``; a digest as the stem if the name would be too long."""
    stem, suffix = os.path.splitext(base)
    encoded = os.fsencode(base)
    if len(encoded) > _LONGEST_BASE:
        stem = blake2b(encoded, digest_size=16).hexdigest()
        suffix = suffix if len(os.fsencode(suffix)) <= _LONGEST_SUFFIX else ""
    return stem, suffix


def is_temporary_name(name: str) -> bool:
    """Whether ``name`` has the form of `temporary_name`."""
    return ".reactor" in name and _NAME.fullmatch(name) is not None


class TemporaryFile:
    """A temporary file that is renamed to ``base``, or removed by `close`.

    If it can't be removed, the next attempt for ``path`` begins by removing it, so there is never more than one.

    Until it gets its owner, its permissions allow nothing that its mode does not allow every user. It inherits no ACL from a
    directory of anybody but root, us or its owner.
    """

    def __init__(
        self, path: str, directory: int, base: str, attributes: Attributes, *, same_suffix: bool = False
    ) -> None:
        self.path = path
        self._directory = directory
        self._base = base
        self._mode = 0o644 if attributes.mode & _READABLE_BY_ALL == _READABLE_BY_ALL else 0o600
        self._uid = attributes.uid
        self._same_suffix = same_suffix
        self.name = ""
        self.fd = -1

    def make(self, *, is_locked: bool = True) -> None:
        """Make the file, empty, open for writing, and locked unless it exists for a moment only."""
        if self.path in _left:
            self._remove(_left[self.path])
            del _left[self.path]
        while True:
            self.name = temporary_name(self._base, same_suffix=self._same_suffix)
            try:
                self.fd = os.open(self.name, _NEW, self._mode, dir_fd=self._directory)
            except FileExistsError:
                continue
            if not is_locked or lock_temporary(self.fd):
                break
            self.close(is_failing=False)  # another process is checking whether it is stale
        if belongs_to_another(self._directory, self._uid):
            drop_lists(self.fd)

    def close(self, is_failing: bool) -> None:
        """Close the file, and remove it unless it has replaced the target."""
        self._close_descriptor()
        if self.name:
            try:
                self._remove(self.name)
            except OSError:
                _left[self.path] = self.name
                if not is_failing:
                    raise

    def _remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._directory)

    def finish_writing(self) -> None:
        """Replace the descriptor by a read-only one: a program that is open for writing can't be started."""
        # Its name may lead to another file by now.
        fd = os.open(f"/proc/self/fd/{self.fd}", _FINISHED)
        lock_temporary(fd)
        os.close(self.fd)
        self.fd = fd

    def replace_target(self) -> bool:
        """Rename it over the target and close it; False if that is impossible because the target is a mount point."""
        try:
            os.rename(self.name, self._base, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EXDEV):
                raise
            return False
        self.name = ""
        self.close(is_failing=False)
        return True

    def take_free_name(self) -> bool:
        """Rename it to the target if nothing is there, and close it before.

        False if something is there, or if the file system can't rename like that.
        """
        self._close_descriptor()
        if not rename_if_free(self.name, self._base, self._directory):
            return False
        self._is_renamed()
        return True

    def replace_in_memory(self) -> bool:
        """As `replace_target`, but closes it first: so its last event is that of the rename (see `OwnRenames`).

        Also False if another process took it for stale in between, as it was not locked.
        """
        self._close_descriptor()
        try:
            os.rename(self.name, self._base, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EXDEV, errno.ENOENT):
                raise
            return False
        self._is_renamed()
        return True

    def _is_renamed(self) -> None:
        own_renames.renamed(self.path, self.name)
        self.name = ""

    def _close_descriptor(self) -> None:
        fd, self.fd = self.fd, -1
        if fd != -1:
            os.close(fd)


def rename_if_free(old: str, new: str, directory: int) -> bool:
    """Rename ``old`` to ``new``, both in the directory open at ``directory``, unless ``new`` exists.

    Returns False if it exists, or if it can't be renamed like that, for whatever reason: some file systems can't.
    """
    if _renameat2 is None:
        return False
    names = os.fsencode(old), os.fsencode(new)
    return bool(_renameat2(directory, names[0], directory, names[1], _NO_REPLACE) == 0)
