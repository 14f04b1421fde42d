"""The table of mounts that the kernel keeps for this process."""

from __future__ import annotations

import os.path
from typing import NamedTuple

from resources.file.errors import Explaining
from resources.mount.fstab import unescape
from watchers.readiness import MOUNTS


class Mounted(NamedTuple):
    """One mount. ``options`` are those of the mount and of its file system."""

    source: str
    fstype: str
    options: frozenset[str]


def mounts_at(point: str) -> tuple[Mounted, ...]:
    """What is mounted at ``point``, the topmost last. Raises ResourceError when there is no /proc."""
    parent, name = os.path.split(point)
    real = os.path.join(os.path.realpath(parent), name)
    with Explaining(f"read {MOUNTS}"), open(MOUNTS, errors="surrogateescape", newline="\n") as file:
        return tuple(mounted for where, mounted in map(_parse, file) if where == real)


# 36 35 98:0 /root/in/it /mount/point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue


def _parse(line: str) -> tuple[str, Mounted]:
    ours, _, its = line.rstrip("\n").partition(" - ")
    _, _, _, _, point, options, *_ = ours.split(" ")
    fstype, source, super_options = its.split(" ", 2)
    words = frozenset(unescape(option) for option in f"{options},{super_options}".split(","))
    return unescape(point), Mounted(unescape(source), fstype, words)
