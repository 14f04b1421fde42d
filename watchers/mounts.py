"""The table of mounts: the mount point and type of each, and which of them have changed.

inotify sends no event when a file system is mounted over a watched directory, nor for changes that are made elsewhere:
on the server of a network file system, or inside the kernel.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from reactor import MountInfo, follow_mounts, is_shared_mount, read_mounts

_KERNEL = frozenset(("cgroup", "cgroup2", "proc", "sysfs"))


class MountTable:
    """The mounts that this process sees. Raises OSError when /proc is missing."""

    def __init__(self) -> None:
        self._mounts: frozenset[MountInfo] = frozenset()
        self._types: dict[str, str] = {}
        self.points: frozenset[bytes] = frozenset()
        self._reread()

    def silent_type(self, device: int) -> str | None:
        """The type of the file system on ``device`` (``st_dev``) if it doesn't announce all its changes."""
        kind = self._types.get(f"{os.major(device)}:{os.minor(device)}", "")
        return kind if kind in _KERNEL or is_shared_mount(kind) else None

    async def follow(self, on_change: Callable[[frozenset[bytes]], None]) -> None:
        """Call ``on_change`` with the changed mount points, until cancelled. Raises OSError as `read_mounts` does."""

        def look() -> None:
            if changed := self._reread():
                on_change(changed)

        await follow_mounts(look)

    def _reread(self) -> frozenset[bytes]:
        found = frozenset(read_mounts())
        changed = _points(found ^ self._mounts)
        self._mounts = found
        self._types = {mount.device: mount.fstype for mount in found}
        self.points = _points(found)
        return changed


def _points(found: frozenset[MountInfo]) -> frozenset[bytes]:
    return frozenset(os.fsencode(mount.point) for mount in found)
