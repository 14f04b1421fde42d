"""The bundles that a host keeps. Each is a directory named by its digest, and appears complete, by one rename.

Below the state directory::

    fleet/lock                      held by the process that changes these files
    fleet/tmp/                      bundles being unpacked; removed by the next process that gets the lock
    fleet/bundles/sha256-.../       one unpacked bundle; never changed
    fleet/<channel>/                the bundle in force: see `channel`

A bundle is unpacked in ``tmp``, flushed to disk, and then renamed into ``bundles``. So a process that is killed, or a
power failure, leaves the whole bundle or none.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from reactor.atomic_write import sync_directory
from reactor.fleet.bundle.digest import MANIFEST, is_digest, named
from reactor.fleet.bundle.errors import BundleError

if TYPE_CHECKING:  # most pushes find their bundle here, and unpack none
    from reactor.fleet.bundle.limits import BundleLimits

_MAGICS = {b"\x28\xb5\x2f\xfd": "tar.zst", b"\x1f\x8b": "tar.gz"}
_PIECE = 128 * 1024
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class StoreLockedError(BundleError):
    """Another process is changing the bundles of this host."""


class BundleStore:
    """The bundles in ``fleet/`` below ``state_directory``, which must be a directory that only we can change."""

    def __init__(self, state_directory: str) -> None:
        self.root = os.path.join(state_directory, "fleet")
        self.tmp = os.path.join(self.root, "tmp")
        self._bundles = os.path.join(self.root, "bundles")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the directories if needed, and hold the lock within the block. Remove what a killed process left.

        Raises StoreLockedError if another process holds the lock, and OSError.
        """
        for path in (self.root, self.tmp, self._bundles):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
            os.close(os.open(path, _DIRECTORY))  # refuses a link in its place
        lock = os.open(
            os.path.join(self.root, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                words = f"another push to this host is going on, in {self.root}"
                raise StoreLockedError(words, "push again when it has ended") from None
            for left in os.listdir(self.tmp):
                _remove(os.path.join(self.tmp, left))
            yield
        finally:
            os.close(lock)

    def path_of(self, digest: str) -> str:
        """The directory of a bundle, which may be missing."""
        if not is_digest(digest):
            raise BundleError(f"{digest!r} is not the name of a bundle")
        return os.path.join(self._bundles, digest)

    def has(self, digest: str) -> bool:
        """Whether the bundle is here, complete."""
        return os.path.isdir(self.path_of(digest))

    @contextmanager
    def unpacked(
        self, stream: IO[bytes], digest: str, size: int, limits: BundleLimits | None = None
    ) -> Iterator[str]:
        """Read ``size`` bytes of the bundle ``digest`` from ``stream``; yield the temporary directory of its files.

        Raises BundleError if they are not that bundle, or not safe to unpack; OSError if the disk is full.
        """
        from reactor.fleet.bundle.limits import LIMITS  # noqa: PLC0415 - see above
        from reactor.unpacking.members import size_in_words  # noqa: PLC0415

        limits = limits or LIMITS
        target = self.path_of(digest)
        if not 0 < size <= limits.packed:
            words = f"{size_in_words(max(size, 0))}, and at most {size_in_words(limits.packed)} are allowed"
            raise BundleError(f"the bundle has {words}")
        with tempfile.TemporaryFile(dir=self.tmp) as packed:
            found = named(_copy(stream, packed, size))
            if found != os.path.basename(target):
                raise BundleError(f"the bundle is {found}, and {digest} was announced", "push it again")
            directory = tempfile.mkdtemp(dir=self.tmp)
            try:
                _unpack(packed, directory, limits)
                yield directory
            finally:
                _remove(directory)

    def keep(self, directory: str, digest: str) -> str:
        """Move a directory from `unpacked` to its place, on the disk with all its files. Return the place."""
        from reactor.hostfs import sync_file_system  # noqa: PLC0415 - it imports trio

        target = self.path_of(digest)
        descriptor = os.open(directory, _DIRECTORY)
        try:
            sync_file_system(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.rename(directory, target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        sync_directory(self._bundles)
        return target

    def remove_unused(self, spare: int = 1) -> None:
        """Remove the bundles that no channel uses, except the ``spare`` newest ones.

        A bundle is moved away before it is removed, so none is ever there in part.
        """
        used = self._used()
        unused = [os.path.join(self._bundles, name) for name in os.listdir(self._bundles) if name not in used]
        unused.sort(key=lambda path: os.lstat(path).st_mtime_ns, reverse=True)
        for path in unused[spare:]:
            aside = tempfile.mkdtemp(dir=self.tmp)
            os.rename(path, os.path.join(aside, "unused"))
            _remove(aside)

    def _used(self) -> set[str]:
        """The names of the bundles that any generation of any channel refers to."""
        links = glob.glob(os.path.join(glob.escape(self.root), "*", "generations", "*", "*"))
        return {os.path.basename(os.readlink(link)) for link in links if os.path.islink(link)}


def _copy(stream: IO[bytes], packed: IO[bytes], size: int) -> str:
    """Copy ``size`` bytes; return their SHA-256. Raises BundleError if the stream ends earlier."""
    digest = hashlib.sha256()
    left = size
    while left:
        piece = stream.read(min(left, _PIECE))
        if not piece:
            words = f"the bundle broke off after {size - left} of {size} bytes"
            raise BundleError(words, "push it again")
        digest.update(piece)
        packed.write(piece)
        left -= len(piece)
    packed.flush()
    packed.seek(0)
    return digest.hexdigest()


def _unpack(packed: IO[bytes], directory: str, limits: BundleLimits) -> None:
    from reactor.unpacking.members import UnpackingError  # noqa: PLC0415 - see above
    from reactor.unpacking.unpack import unpack_open  # noqa: PLC0415

    head = packed.read(4)
    packed.seek(0)
    form = next((form for magic, form in _MAGICS.items() if head.startswith(magic)), "tar")
    try:
        unpack_open(packed, directory, form, limits=limits.for_unpacking)
    except UnpackingError as error:
        raise BundleError(f"the bundle can't be unpacked: {error.message}", error.hint) from error
    if not os.path.isfile(os.path.join(directory, MANIFEST)):
        raise BundleError(f"the bundle has no {MANIFEST}")


def _remove(path: str) -> None:
    """Remove a file or a directory of ours. What can't be removed is left for the next time."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)
