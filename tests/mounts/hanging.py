"""A file system on a disk of this host that can be let hang, for reading as well: ext4 in a file that a server shows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from served import Served, served, wait_until

SIZE = 32 << 20


class HangingDisk(NamedTuple):
    """What is mounted at ``point``."""

    point: Path
    images: tuple[Path, ...]
    server: Served

    def forget(self) -> None:
        """Let nothing of the content of its files be in memory."""
        os.sync()
        files = [path for path in self.point.rglob("*") if path.is_file()]
        for path in (*files, *self.images):
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)

    def hang(self) -> None:
        """Let no call that has to wait for it return any more."""
        self.server.stop()

    def answer(self) -> None:
        """Let all go on that waited."""
        self.server.go_on()


@contextmanager
def hanging_disk(root: Path) -> Iterator[HangingDisk]:
    """Mount a new one below ``root`` for as long as the block lasts; skip the test where that is not permitted."""
    with served(root / "shown", root / "held") as server:
        image, point = root / "shown" / "image", root / "hanging"
        with image.open("wb") as file:
            file.truncate(SIZE)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        point.mkdir()
        mounting = subprocess.run(
            ["mount", "-o", "loop", image, point], capture_output=True, text=True, check=False
        )
        if mounting.returncode:
            pytest.skip(f"no file system can be mounted here: {mounting.stderr.strip()}")
        disk = HangingDisk(point, (image, root / "held" / "image"), server)
        try:
            yield disk
        finally:
            disk.answer()
            # The kernel may still be at what was given up, or another process look at all disks.
            wait_until(lambda: subprocess.run(["umount", point], check=False).returncode == 0)
