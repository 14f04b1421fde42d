"""The table of mounts that the kernel keeps for this process."""

from __future__ import annotations

from typing import NamedTuple

from reactor import MountInfo, read_mounts
from reactor.hostfs import Explaining
from reactor.resources.mount.mount_point import real_path
from reactor.watchers.readiness import MOUNTS


class Mounted(NamedTuple):
    """One mount. ``options`` are those of the mount and of its file system."""

    source: str
    fstype: str
    options: frozenset[str]


def mounts_at(point: str) -> tuple[Mounted, ...]:
    """What is mounted at ``point``, the topmost last. Raises ResourceError when a stranger leads there."""
    with Explaining(f"read {MOUNTS}"):
        real = real_path(point)
        return tuple(_mounted(mount) for mount in read_mounts() if mount.point == real)


def _mounted(mount: MountInfo) -> Mounted:
    return Mounted(mount.source, mount.fstype, frozenset((*mount.options, *mount.super_options)))
