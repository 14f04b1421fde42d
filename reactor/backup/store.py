"""The directory in which former versions of files are kept.

``objects/`` holds contents, each named by its SHA-256 and stored once; ``entries/`` says what they were. Several
processes may use it: whoever keeps something holds a shared lock, whoever prunes an exclusive one. None of this is
flushed to the disk: that would cost more than a repair, and what a power failure tears is recognised.
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
from hashlib import sha256

import trio

from reactor.backup import undo_contents
from reactor.backup.entry import Name, Version, decode, key_of, parse_name
from reactor.backup.pruning import ENTRY_COST, Limits, cost, survivors
from reactor.clock import is_settled
from reactor.resource.threads import in_thread

_INLINE_LIMIT = 64 * 1024
"""Bytes: to keep a smaller file at once costs less than a thread for it."""
_AT_ONCE = 2
"""How many larger files may be in memory at the same time."""
_LOOK_EVERY = 3600.0
"""Seconds: versions get too old also while none is added."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def backups_in(state_directory: str) -> str:
    """The directory of the former versions that the run on a state directory keeps."""
    return os.path.join(state_directory, "backups")


class Store:
    """Keeps former versions within ``limits``. The directory is made when there is something to keep.

    ``is_secret`` says of a ref whether its resource is made with secrets: then what was there is not to be shown.
    """

    def __init__(self, directory: str, limits: Limits | None = None) -> None:
        self._directory = directory
        self._objects = f"{directory}/objects"
        self._entries = f"{directory}/entries"
        self._held = f"{directory}/held"
        self._limits = limits or Limits()
        self.is_secret: Callable[[str], bool] = lambda _ref: False
        self._newest: dict[str, tuple[str, int, int, int]] = {}
        self._latest: int | None = None
        self._room = self._limits.total
        self._crowded = trio.Event()
        self._threads = trio.CapacityLimiter(_AT_ONCE)

    async def keep(self, path: str, ref: str, fd: int) -> None:
        """Keep what the regular file open at ``fd`` holds, with owner and mode, as a former version of ``path``.

        Raises OSError when that can't be done, also for a file over the limit.
        """
        found = os.fstat(fd)
        if found.st_size > self._limits.file:
            raise OSError(errno.EFBIG, f"it is larger than {self._limits.file} bytes")
        if not self._kept_at_once(path, ref, fd, found):
            await in_thread(self._keep, path, ref, fd, found, fcntl.LOCK_SH, limiter=self._threads)
        if self._room < 0:
            self._crowded.set()

    async def keep_for_undo(self, ref: str, fd: int) -> str:
        """Keep what the regular file open at ``fd`` holds, whatever its size and age, until `hold_only` frees it.

        Returns the path of a file that holds the same, which is on the disk. Raises OSError when that can't be done.
        """
        return await in_thread(undo_contents.keep_for_undo, self._held, ref, fd, limiter=self._threads)

    def hold_only(self, refs: Iterable[str]) -> None:
        """Free what is held for others than ``refs``."""
        undo_contents.free_all_but(self._held, refs)

    async def maintain(self) -> None:
        """Keep within the limits until cancelled."""
        while True:
            with suppress(OSError):  # keeping meets the same error, and tells it
                await in_thread(self.prune)
            self._crowded = trio.Event()
            with trio.move_on_after(_LOOK_EVERY):
                await self._crowded.wait()

    def prune(self) -> None:
        """Remove what is over the limits, and what a killed process left half-done. Blocking."""
        if not os.path.isdir(self._entries):
            return
        with self._locked(fcntl.LOCK_EX):
            with os.scandir(self._objects) as objects:
                sizes = {each.name: each.stat().st_size for each in objects}
            entries = {text: parse_name(text) for text in os.listdir(self._entries)}
            limits = self._limits if is_settled() else self._limits._replace(age=math.inf)
            stay, used = survivors(filter(None, entries.values()), sizes, limits, time.time_ns())
            for text, name in entries.items():
                if name not in stay:
                    os.unlink(f"{self._entries}/{text}")
            for digest in sizes.keys() - {name.digest for name in stay}:
                os.unlink(f"{self._objects}/{digest}")
            self._newest.clear()
            self._room = self._limits.total - used

    def versions(self, path: str) -> list[Version]:
        """The former versions of ``path``, the newest first."""
        names = [name for name in self._names() if name.key == key_of(path)]
        found = (self._version(name) for name in sorted(names, key=lambda name: name.time, reverse=True))
        return [version for version in found if version is not None and version.path == path]

    def content(self, version: Version) -> str:
        """The path of a file that holds what ``version`` held. Raises OSError when that is gone or damaged."""
        path = f"{self._objects}/{version.name.digest}"
        with open(path, "rb") as content:
            if sha256(content.read()).hexdigest() != version.name.digest:
                raise OSError(errno.EIO, "the content that was kept is damaged", path)
        return path

    def _version(self, name: Name) -> Version | None:
        try:
            with open(f"{self._entries}/{name}", "rb") as entry:
                return decode(name, entry.read())
        except FileNotFoundError:  # it was pruned just now
            return None

    def _kept_at_once(self, path: str, ref: str, fd: int, found: os.stat_result) -> bool:
        if found.st_size > _INLINE_LIMIT:
            return False
        try:
            self._keep(path, ref, fd, found, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:  # somebody prunes: that is to be waited for elsewhere
            return False
        return True

    def _keep(self, path: str, ref: str, fd: int, found: os.stat_result, lock: int) -> None:
        data = _read(fd, found.st_size)
        digest = sha256(data).hexdigest()
        summary = (digest, found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))
        if self._newest.get(path) == summary:  # one that comes back again and again is kept once
            return
        name = Name(key_of(path), self._next_time(), os.urandom(4).hex(), digest)
        version = Version(name, path, ref, len(data), *summary[1:], self.is_secret(ref))
        try:
            self._write(version, data, lock)
        except FileNotFoundError:
            for directory in (self._directory, self._objects, self._entries):
                os.makedirs(directory, 0o700, exist_ok=True)
            self._write(version, data, lock)
        self._newest[path] = summary

    def _next_time(self) -> int:
        """Now, but later than any version kept before: the last one is the newest, also after a clock was set back."""
        if self._latest is None:
            self._latest = max((name.time for name in self._names()), default=0)
        self._latest = max(time.time_ns(), self._latest + 1)
        return self._latest

    def _names(self) -> list[Name]:
        try:
            texts = os.listdir(self._entries)
        except FileNotFoundError:
            return []
        return [name for text in texts if (name := parse_name(text))]

    def _write(self, version: Version, data: bytes, lock: int) -> None:
        """Write the object, then the entry: one without its object would promise what is not there."""
        with self._locked(lock):
            if not self._holds(version):
                target = f"{self._objects}/{version.name.digest}"
                temporary = f"{target}.{version.name.id}"
                _create(temporary, data)
                os.rename(temporary, target)
                self._room -= cost(len(data))
            _create(f"{self._entries}/{version.name}", version.encode())
            self._room -= ENTRY_COST

    def _holds(self, version: Version) -> bool:
        try:
            return os.stat(f"{self._objects}/{version.name.digest}").st_size == version.size
        except FileNotFoundError:
            return False

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        fd = os.open(f"{self._directory}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, how)
            yield
        finally:
            os.close(fd)


def _read(fd: int, size: int) -> bytes:
    """The first ``size`` bytes of a file, or what there is of them, wherever ``fd`` stands."""
    data = os.pread(fd, size, 0)
    while len(data) < size and (more := os.pread(fd, size - len(data), len(data))):
        data += more
    return data


def _create(path: str, data: bytes) -> None:
    """Write a new file, or leave none."""
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
