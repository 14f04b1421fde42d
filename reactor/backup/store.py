"""The directory with earlier versions of files.

``objects/`` has contents, each named by its SHA-256 and stored once; ``entries/`` has the versions. Several processes
may use it: adding takes a shared lock, pruning an exclusive one. Nothing is flushed to disk: that would take longer
than a repair, and a file that a power failure has damaged is recognised.
"""

from __future__ import annotations

import errno
import fcntl
import math
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

import trio

from reactor.backup.entry import Name, Version, decode, key_of
from reactor.backup.pruning import ENTRY_COST, Limits, cost, names_in, prune, size_of
from reactor.clock import is_settled
from reactor.resource.backup_store import READ_AT_ONCE
from reactor.resource.hashes import blake2b, sha256
from reactor.resource.redaction import holds_secret_from_outside
from reactor.resource.threads import in_thread

_AT_ONCE = 2
"""The number of larger files that may be in memory at a time."""
_CHECK_INTERVAL = 3600.0
"""Seconds between two prunings: versions become too old even if none is added."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def backups_in(state_directory: str) -> str:
    """The directory for backups in a state directory."""
    return os.path.join(state_directory, "backups")


class Store:
    """Keeps earlier versions of files within ``limits``. The directory is created with the first version.

    ``is_secret`` returns whether the resource of a ref has secrets: then its versions must not be shown.
    """

    def __init__(self, directory: str, limits: Limits | None = None) -> None:
        self._directory = directory
        self._objects = f"{directory}/objects"
        self._entries = f"{directory}/entries"
        self._held = f"{directory}/held"
        self._limits = limits or Limits()
        self.is_secret: Callable[[str], bool] = lambda _ref: False
        self._newest: dict[str, bytes] = {}
        """A hash of the newest version of each path. Every file that ever drifted has one, so it is small."""
        self._latest: int | None = None
        self._room = self._limits.total
        self._crowded = trio.Event()
        self._threads = trio.CapacityLimiter(_AT_ONCE)

    async def keep(self, path: str, ref: str, fd: int) -> None:
        """Keep the content, owner and mode of the regular file open at ``fd`` as a version of ``path``.

        Raises OSError, also for a file over the limit, and for one with a secret from outside of the manifest.
        """
        found = os.fstat(fd)
        if found.st_size > self._limits.file:
            raise OSError(errno.EFBIG, f"it is larger than {self._limits.file} bytes")
        if not self._kept_at_once(path, ref, fd, found):
            await in_thread(self._keep, path, ref, fd, found, fcntl.LOCK_SH, limiter=self._threads)
        if self._room < 0:
            self._crowded.set()

    async def keep_for_undo(self, ref: str, fd: int) -> str:
        """Keep the content of the regular file open at ``fd``, of any size, until `hold_only` frees it.

        Returns the path of the copy, which is on disk. Raises OSError.
        """
        from reactor.backup import undo_contents  # noqa: PLC0415 - few resources are undone

        return await in_thread(undo_contents.keep_for_undo, self._held, ref, fd, limiter=self._threads)

    def hold_only(self, refs: Iterable[str]) -> None:
        """Delete the contents that are kept for resources other than ``refs``."""
        if os.path.isdir(self._held):
            from reactor.backup import undo_contents  # noqa: PLC0415 - few resources are undone

            undo_contents.free_all_but(self._held, refs)

    async def maintain(self) -> None:
        """Prune at an interval, until cancelled."""
        while True:
            # Before the pruning, which may have read the directory already when it is set.
            self._crowded = trio.Event()
            with suppress(OSError):  # `keep` will meet and report the same error
                await in_thread(self.prune, gives_way=True)
            with trio.move_on_after(_CHECK_INTERVAL):
                await self._crowded.wait()

    def prune(self) -> None:
        """Delete versions over the limits, and incomplete files of killed processes. Blocks."""
        if not os.path.isdir(self._entries):
            return
        limits = self._limits if is_settled() else self._limits._replace(age=math.inf)
        with self._locked(fcntl.LOCK_EX):
            used = prune(self._entries, self._objects, limits, time.time_ns())
            self._newest.clear()
            self._room = self._limits.total - used

    def versions(self, path: str) -> list[Version]:
        """The versions of ``path``, the newest first."""
        names = [name for name in names_in(self._entries) if name.key == key_of(path)]
        found = (self._version(name) for name in sorted(names, key=lambda name: name.time, reverse=True))
        return [version for version in found if version is not None and version.path == path]

    def oldest_since(self, since: float) -> list[Version]:
        """What was at each path that was replaced or removed since ``since``, in seconds since 1970; ordered by path."""
        oldest: dict[str, Name] = {}
        for name in names_in(self._entries):
            if name.time >= since * 1e9 and (name.key not in oldest or name.time < oldest[name.key].time):
                oldest[name.key] = name
        found = filter(None, map(self._version, oldest.values()))
        return sorted(found, key=lambda version: version.path)

    def content(self, version: Version) -> str:
        """The path of a file with the content of ``version``. Raises OSError if it is missing or damaged."""
        path = f"{self._objects}/{version.name.digest}"
        with open(path, "rb") as content:
            if _sha256(content.read()) != version.name.digest:
                raise OSError(errno.EIO, "the backup is damaged", path)
        return path

    def _version(self, name: Name) -> Version | None:
        try:
            with open(f"{self._entries}/{name}", "rb") as entry:
                return decode(name, entry.read())
        except FileNotFoundError:  # it was just pruned
            return None

    def _kept_at_once(self, path: str, ref: str, fd: int, found: os.stat_result) -> bool:
        if found.st_size > READ_AT_ONCE:
            return False
        try:
            self._keep(path, ref, fd, found, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:  # another process prunes: wait for that in a thread
            return False
        return True

    def _keep(self, path: str, ref: str, fd: int, found: os.stat_result, lock: int) -> None:
        data = _read(fd, found.st_size)
        digest = _sha256(data)
        attributes = (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))
        newest = blake2b(f"{digest} {attributes}".encode(), digest_size=16).digest()
        if self._newest.get(path) == newest and os.path.isdir(self._entries):
            return  # alternating content is kept once
        is_secret = self.is_secret(ref)
        if is_secret and holds_secret_from_outside(data):
            raise OSError(errno.EPERM, "it holds a secret that must not be on the disk twice")
        name = Name(key_of(path), self._next_time(), os.urandom(4).hex(), digest)
        version = Version(name, path, ref, len(data), *attributes, is_secret)
        try:
            self._write(version, data, lock)
        except FileNotFoundError:
            self._newest.clear()  # what was there was removed under the run
            state_directory = os.path.dirname(self._directory)
            for directory in (state_directory, self._directory, self._objects, self._entries):
                os.makedirs(directory, 0o700, exist_ok=True)
            self._write(version, data, lock)
        self._newest[path] = newest

    def _next_time(self) -> int:
        """The current time, or just after the latest version if that is later, because the clock was set back."""
        if self._latest is None:
            try:
                self._latest = os.stat(f"{self._directory}/lock").st_mtime_ns  # see `_write`
            except FileNotFoundError:
                self._latest = 0
        self._latest = max(time.time_ns(), self._latest + 1)
        return self._latest

    def _write(self, version: Version, data: bytes, lock: int) -> None:
        """Write the object, then the entry: an entry needs its object.

        The time of the lock file becomes that of the version: to find the latest among 50,000 names would take a run a
        tenth of a second.
        """
        with self._locked(lock) as fd:
            if not self._holds(version):
                target = f"{self._objects}/{version.name.digest}"
                temporary = f"{target}.{version.name.id}"
                _create(temporary, data)
                os.rename(temporary, target)
                self._room -= cost(len(data))
            _create(f"{self._entries}/{version.name}", version.encode())
            self._room -= ENTRY_COST
            os.utime(fd, ns=(version.name.time, version.name.time))

    def _holds(self, version: Version) -> bool:
        return size_of(f"{self._objects}/{version.name.digest}") == version.size

    @contextmanager
    def _locked(self, how: int) -> Iterator[int]:
        fd = os.open(f"{self._directory}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, how)
            yield fd
        finally:
            os.close(fd)


def _sha256(data: bytes) -> str:
    if len(data) <= READ_AT_ONCE:
        return str(sha256(data).hexdigest())
    import hashlib  # noqa: PLC0415 - see `reactor.resource.hashes`

    return hashlib.sha256(data).hexdigest()


def _read(fd: int, size: int) -> bytes:
    """The first ``size`` bytes of a file, or fewer if it is shorter, regardless of the offset of ``fd``."""
    data = os.pread(fd, size, 0)
    while len(data) < size and (more := os.pread(fd, size - len(data), len(data))):
        data += more
    return data


def _create(path: str, data: bytes) -> None:
    """Write a new file. If that fails, leave no file."""
    fd = os.open(path, _NEW, 0o600)
    try:
        written = os.write(fd, data)
        while written < len(data):
            written += os.write(fd, memoryview(data)[written:])
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(fd)
