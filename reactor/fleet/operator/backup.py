"""Saves all streams of the account FLEET into a file. `reactor.fleet.operator.restoring` restores them.

The file is a zip archive with a snapshot of each stream as the server gives it, and an index with their digests, which is
written last.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import stat
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import trio

from reactor.atomic_write import sync_directory
from reactor.errors import ReactorError
from reactor.fleet.bucket_names import CHANNELS, HOSTS
from reactor.fleet.link.errors import ApiError, DisconnectedError, MissingError, NoAnswerError, hint_to_make
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.snapshots import CHUNK, Snapshot, save_stream

Tell = Callable[[str, int], None]
"""Gets the name of a stream, and the bytes of it that are done."""
ATTEMPTS, PAUSE = 5, 2.0
"""How often a stream is tried, and the seconds between: an election takes up to 9."""
_INDEX = "backup.json"
_VERSION = 1
_LARGEST_INDEX = 16 << 20
_STREAM = re.compile(r"[A-Za-z0-9_-]{1,255}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SPARE = 1 << 20
"""Bytes for what the archive has besides the streams."""


class BackupError(ReactorError):
    """A backup can't be written or read: no room, damaged, or not a backup."""

    code = "R1024"


class SavedStream(NamedTuple):
    """A stream in a backup. ``size``: bytes in the file; ``digest``: their SHA-256 in hexadecimal."""

    name: str
    snapshot: Snapshot
    size: int
    digest: str

    @property
    def messages(self) -> int:
        """The number of its messages."""
        return int(self.snapshot.state["messages"])


Done = Callable[[SavedStream], None]


class BackupWriter:
    """Writes the streams one after the other into an archive."""

    def __init__(self, path: str, archive: zipfile.ZipFile) -> None:
        self._path = path
        self._archive = archive
        self._streams: list[dict[str, Any]] = []

    def require_room(self, size: int) -> None:
        """Raise BackupError if the disk has no room for streams of ``size`` bytes. Raises OSError."""
        disk = os.statvfs(os.path.dirname(self._path))
        free = disk.f_bavail * disk.f_frsize
        if free < size + _SPARE:
            raise BackupError(
                f"{self._path} can have {size:,} bytes, and its disk has {free:,} free",
                "make room, or give a file on another disk",
            )

    @contextmanager
    def stream(self, name: str, tell: Tell) -> Iterator[Callable[[bytes], None]]:
        """Yield the function that writes the pieces of the next stream. Call `saved` after it. Raises OSError."""
        digest, size = hashlib.sha256(), 0

        def write(piece: bytes) -> None:
            nonlocal size
            member.write(piece)
            digest.update(piece)
            size += len(piece)
            tell(name, size)

        with self._archive.open(_member(name), "w", force_zip64=True) as member:
            yield write
        self._streams.append({"name": name, "size": size, "sha256": digest.hexdigest()})

    def drop(self) -> None:
        """Forget the stream that was written last, of which only a part has come."""
        part = self._archive.filelist.pop()
        del self._archive.NameToInfo[part.filename]
        self._archive.start_dir = part.header_offset

    def saved(self, snapshot: Snapshot) -> SavedStream:
        """Note what the stream is that was written last."""
        fields = self._streams[-1]
        fields.update(snapshot._asdict())
        return SavedStream(fields["name"], snapshot, fields["size"], fields["sha256"])

    def finish(self, fleet: str) -> None:
        """Write the index. ``fleet``: the public key of its account FLEET. Raises OSError."""
        index = {"v": _VERSION, "fleet": fleet, "time": int(time.time()), "streams": self._streams}
        self._archive.writestr(_member(_INDEX), json.dumps(index, indent=1))


def _member(name: str) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(name, time.localtime()[:6])
    found.external_attr = (stat.S_IFREG | 0o600) << 16
    return found


@contextmanager
def writing_backup(path: str) -> Iterator[BackupWriter]:
    """Yield a writer. The file appears, or is replaced, at the end of the block, whole; only its owner can read it.

    Until then it is beside, as PATH.part, which the next backup replaces. Raises BackupError, OSError.
    """
    path = os.path.abspath(path)
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise BackupError(f"{path} is not a regular file", "name a file that is one, or a new one")
    part = f"{path}.part"
    with open(_locked(part), "r+b") as file:
        try:
            os.fchmod(file.fileno(), 0o600)
            file.truncate()
            with zipfile.ZipFile(file, "w") as archive:
                yield BackupWriter(path, archive)
            file.truncate()  # behind the end may be what was dropped
            file.flush()
            os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException as error:
            os.unlink(part)
            if isinstance(error, OSError):  # the error for a full disk has no file name
                raise OSError(error.errno, error.strerror, path) from error
            raise
    sync_directory(os.path.dirname(path))


def _locked(path: str) -> int:
    """Open the file, and lock it. Raises BackupError if it is that of another process or user, OSError."""
    descriptor = os.open(path, _OPEN, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mine, there = os.fstat(descriptor), os.lstat(path)
    except (BlockingIOError, FileNotFoundError):
        os.close(descriptor)
        raise BackupError(f"another backup writes {path}", "wait until it has ended") from None
    if not stat.S_ISREG(mine.st_mode) or mine.st_uid != os.geteuid() or mine.st_nlink != 1:
        os.close(descriptor)
        raise BackupError(f"{path} is of another user, or no file of its own", "remove it")
    if (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino):
        os.close(descriptor)
        raise BackupError(f"another backup has just ended with {path}", "run this again")
    return descriptor


class Backup:
    """A backup that can be read. ``fleet``: as of `BackupWriter.finish`; ``time``: seconds since 1970; ``id``: no other has it."""

    def __init__(self, path: str, archive: zipfile.ZipFile) -> None:
        """Read the index. Raises BackupError."""
        self._path = path
        self._archive = archive
        with _reading(path):
            info = archive.getinfo(_INDEX)
            if info.compress_type != zipfile.ZIP_STORED or info.file_size > _LARGEST_INDEX:
                raise ValueError
            data = archive.read(info)
            index = json.loads(data)
            self.id = hashlib.sha256(data).hexdigest()
            if index["v"] != _VERSION:
                words = f"{path} has version {index['v']} of backups, and this reactor reads {_VERSION}"
                raise BackupError(words, "use the version of reactor that made it, or a later one")
            self.fleet = str(index["fleet"])
            self.time = float(index["time"])
            self.streams = [_saved(each) for each in index["streams"]]

    def check(self, tell: Tell) -> None:
        """Compare the digest of each stream. Raises BackupError."""
        for each in self.streams:
            digest = hashlib.sha256()
            for piece in self.pieces(each, tell):
                digest.update(piece)
            if digest.hexdigest() != each.digest:
                raise _damaged(self._path, f": the stream {each.name} does not have its digest")

    def pieces(self, stream: SavedStream, tell: Tell) -> Iterator[bytes]:
        """Yield the content of a stream. Raises BackupError."""
        size = 0
        with _reading(self._path, f": the stream {stream.name} can't be read"):
            info = self._archive.getinfo(stream.name)
            if info.compress_type != zipfile.ZIP_STORED:
                raise ValueError
            with self._archive.open(info) as member:
                for piece in iter(lambda: member.read(CHUNK), b""):
                    size += len(piece)
                    tell(stream.name, size)
                    yield piece


_UNREADABLE = (
    zipfile.BadZipFile, ValueError, KeyError, TypeError, EOFError, NotImplementedError, RuntimeError, OverflowError
)  # fmt: skip
"""What a damaged archive or index raises."""


@contextmanager
def _reading(path: str, what: str = "") -> Iterator[None]:
    """Raise BackupError for what a damaged archive raises: also EINVAL, for a place before its beginning."""
    try:
        yield
    except _UNREADABLE as error:
        raise _damaged(path, what) from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise _damaged(path, what) from error


def _damaged(path: str, what: str = "") -> BackupError:
    return BackupError(f"{path} is damaged, or no backup{what}", "take another copy of it, or another backup")


def _saved(fields: Any) -> SavedStream:
    """Raises ValueError, KeyError, TypeError."""
    name, size, digest = fields["name"], fields["size"], fields["sha256"]
    config, state = fields["config"], fields["state"]
    if not _STREAM.fullmatch(name) or not _DIGEST.fullmatch(digest) or not isinstance(size, int):
        raise ValueError(name)
    if config["name"] != name or not isinstance(state["messages"], int):
        raise ValueError(name)
    return SavedStream(name, Snapshot(config, state), size, digest)


@contextmanager
def reading_backup(path: str) -> Iterator[Backup]:
    """Yield the backup in a file. Raises BackupError, OSError."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise BackupError(f"{path} is not a regular file", "name the file of a backup")
        yield from _opened(path, file)


def _opened(path: str, file: IO[bytes]) -> Iterator[Backup]:
    with _reading(path):
        archive = zipfile.ZipFile(file)
    with archive:
        yield Backup(path, archive)


async def back_up(js: JetStream, writer: BackupWriter, tell: Tell, done: Done) -> None:
    """Save all streams. Raises BackupError, LinkError, OSError.

    Each is as it is at one moment. What is saved first names what is saved later: a channel its releases, for example.
    """
    names = sorted(await js.stream_names(), key=_order)
    if f"KV_{HOSTS}" not in names:
        raise MissingError("there are no streams of a fleet", hint_to_make("kv", HOSTS))
    states = [(await js.stream_info(name))["state"] for name in names]
    writer.require_room(sum(each["bytes"] for each in states))
    for name in names:
        done(await _saved_stream(js, writer, name, tell))


async def _saved_stream(js: JetStream, writer: BackupWriter, name: str, tell: Tell) -> SavedStream:
    """Save one stream. It is tried again while a cluster elects a leader."""
    left = ATTEMPTS
    while True:
        try:
            with writer.stream(name, tell) as write:
                snapshot = await save_stream(js, name, write)
            return writer.saved(snapshot)
        except (ApiError, NoAnswerError, DisconnectedError) as error:
            left -= 1
            if not left or error.hint is not None:
                raise
            writer.drop()
            await trio.sleep(PAUSE)
            with trio.move_on_after(PAUSE):
                await js.connection.wait_up()


def _order(name: str) -> tuple[bool, bool, str]:
    """Channels first, objects last."""
    return name.startswith("OBJ_"), name != f"KV_{CHANNELS}", name
