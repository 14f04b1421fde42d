"""A file system on a disk of this host that can be frozen: ext4 in a file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest


class Disk(NamedTuple):
    """What is mounted at ``point``."""

    point: Path

    def freeze(self) -> None:
        """Let no change of it return any more."""
        subprocess.run(["fsfreeze", "--freeze", self.point], check=True)

    def thaw(self) -> None:
        """Let all go on that waited, if any did."""
        subprocess.run(["fsfreeze", "--unfreeze", self.point], stderr=subprocess.DEVNULL, check=False)


@contextmanager
def disk(point: Path) -> Iterator[Disk]:
    """Mount a new one at ``point`` for as long as the block lasts; skip the test where that is not permitted."""
    image = point.with_suffix(".img")
    with image.open("wb") as file:
        file.truncate(32 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    point.mkdir()
    mounting = subprocess.run(
        ["mount", "-o", "loop", image, point], capture_output=True, text=True, check=False
    )
    if mounting.returncode:
        pytest.skip(f"no file system can be mounted here: {mounting.stderr.strip()}")
    mounted = Disk(point)
    try:
        yield mounted
    finally:
        mounted.thaw()
        subprocess.run(["umount", "--lazy", point], check=True)
