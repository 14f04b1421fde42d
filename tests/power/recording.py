"""A file system on a disk that logs each write, and that file system as it is after a power failure at any moment."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
_HEADER = struct.Struct("=QQQ")
_WRITE, _FLUSH, _MARK = 1, 2, 3
_LONGEST = 60.0
"""Seconds until what does not end is a failure."""


class FileSystem(NamedTuple):
    """How to make and mount one; ``megabytes`` is about the least that its tools accept."""

    make: tuple[str, ...]
    options: str
    replay_options: str
    megabytes: int


FILE_SYSTEMS = {
    # commit=1 lets the file system write its own journal each second, not each fifth: more moments in less time.
    "ext4": FileSystem(("mkfs.ext4", "-qE", "nodiscard", "-J", "size=8"), "commit=1", "", 64),
    "xfs": FileSystem(("mkfs.xfs", "-qK"), "", "nouuid", 320),
    "btrfs": FileSystem(("mkfs.btrfs", "-qK"), "commit=1,nodiscard", "", 192),
}


class Record(NamedTuple):
    """One line of the log of a disk: a write at ``offset``, a flush, or a mark."""

    type: int
    offset: int
    data: bytes


class Moment(NamedTuple):
    """A power failure: the first ``length`` records have been sent, and of those after the last flush only ``kept`` arrived."""

    length: int
    kept: frozenset[int]
    how: str


class Recording:
    """What a disk was told, from ``before`` (an image) on."""

    def __init__(self, kind: str, before: Path, records: list[Record]) -> None:
        self.kind = kind
        self._before = before
        self.records = records
        self._marks = [number for number, record in enumerate(records) if record.type == _MARK]

    def marks(self, moment: Moment) -> list[str]:
        """What had been marked before ``moment``."""
        return [self.records[number].data.decode() for number in self._marks if number < moment.length]

    def draw(self, chance: random.Random) -> Moment:
        """A random moment between the first mark and the end, with all, some or one of the writes that were not flushed."""
        length = chance.randrange(self._marks[0] + 1, len(self.records) + 1)
        flushed = max((number for number in range(length) if self.records[number].type == _FLUSH), default=-1)
        tail = [number for number in range(flushed + 1, length) if self.records[number].type == _WRITE]
        how = chance.choice(("all", "some", "one"))
        if how == "some":
            tail = [number for number in tail if chance.random() < 0.5]
        elif how == "one":
            tail = chance.sample(tail, min(1, len(tail)))
        return Moment(length, frozenset(tail), how)

    @contextmanager
    def replayed(self, moment: Moment, directory: Path) -> Iterator[Path]:
        """The file system after ``moment``, mounted where it was for as long as the block lasts."""
        image, point = directory / "replayed", directory / "disk"
        image.unlink(missing_ok=True)  # the loop device of the last one may still be in use
        subprocess.run(["cp", "--sparse=always", self._before, image], check=True)
        flushed = max(
            (number for number in range(moment.length) if self.records[number].type == _FLUSH), default=-1
        )
        with image.open("r+b") as disk:
            for number, record in enumerate(self.records[: moment.length]):
                if record.type == _WRITE and (number <= flushed or number in moment.kept):
                    disk.seek(record.offset)
                    disk.write(record.data)
        with _mounted(self.kind, image, point, FILE_SYSTEMS[self.kind].replay_options):
            yield point


class LoggedDisk:
    """A file system at ``point`` whose disk logs what it is told. ``mark`` adds a line to that log."""

    def __init__(self, kind: str, directory: Path) -> None:
        self._kind = kind
        self._directory = directory
        self.point = directory / "disk"
        self._log = directory / "log"
        self._before = directory / "before"

    def mark(self, text: str) -> None:
        """Note in the log that something has been promised."""
        (self._directory / "fuse/mark").write_text(text)

    @contextmanager
    def recording(self) -> Iterator[LoggedDisk]:
        """Make the file system, and log from its first mount until the block ends."""
        how = FILE_SYSTEMS[self._kind]
        image = self._directory / "image"
        with image.open("wb") as file:
            file.truncate(how.megabytes << 20)
        subprocess.run([*how.make, image], check=True)
        subprocess.run(["cp", "--sparse=always", image, self._before], check=True)
        with (
            _served(self._directory, image, self._log) as disk,
            _mounted(self._kind, disk, self.point, how.options),
        ):
            yield self

    def recorded(self) -> Recording:
        """What was logged. For after the block."""
        return Recording(self._kind, self._before, list(_read(self._log)))


def _read(log: Path) -> Iterator[Record]:
    with log.open("rb") as file:
        while header := file.read(_HEADER.size):
            kind, offset, count = _HEADER.unpack(header)
            yield Record(kind, offset, file.read(count))


@contextmanager
def _served(directory: Path, image: Path, log: Path) -> Iterator[Path]:
    """The logged disk as a file."""
    program, point = directory / "logged_disk", directory / "fuse"
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "fuse3"], check=True, capture_output=True, text=True
    )
    source = HERE / "logged_disk.c"
    subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-o", program, source, *flags.stdout.split()], check=True
    )
    point.mkdir()
    server = subprocess.Popen([program, point, image, log])
    try:
        while not (point / "disk").exists():
            if server.poll() is not None:
                raise RuntimeError(f"the logged disk has ended with {server.returncode}")
            time.sleep(0.01)
        yield point / "disk"
    finally:
        _unmount(point)
        server.wait(_LONGEST)


@contextmanager
def _mounted(kind: str, disk: Path, point: Path, options: str) -> Iterator[None]:
    point.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", kind, "-o", f"loop,{options}".rstrip(","), disk, point], check=True)
    try:
        yield
    finally:
        os.sync()
        _unmount(point)


def _unmount(point: Path) -> None:
    """Unmount what another process may hold for a moment: LVM, for one, opens all loop devices of the machine."""
    deadline = time.monotonic() + _LONGEST
    while subprocess.run(["umount", point], check=False).returncode:
        assert time.monotonic() < deadline, f"{point} is still in use"
        time.sleep(0.05)
