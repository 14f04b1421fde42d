"""The rule ``mount``: what is mounted where."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import trio

from reactor import ResourceError, in_thread
from resources.health.goss.matchers import Expected
from resources.health.goss.rule import MILLISECOND, Milliseconds, Rule

_ESCAPED = re.compile(r"\\([0-7]{3})")


class MountRule(Rule):
    """A mount point."""

    mountpoint: str | None = None
    """The path; by default the key."""
    exists: Expected = True
    opts: Expected = None
    vfs_opts: Expected = None
    source: Expected = None
    filesystem: Expected = None
    usage: Expected = None
    timeout: Milliseconds = 1000
    """Milliseconds to wait for a file system that does not answer."""

    async def find(self, key: str) -> Mapping[str, Any]:
        """Read the kernel's table; the last mount on a path hides those before. Raises ResourceError for `timeout`."""
        path = self.mountpoint or key
        mounts = _mounts(path)
        if not mounts:
            return {"exists": False}
        *own, _, filesystem, source, options = mounts[-1]
        found = {
            "exists": True,
            "opts": own[5].split(","),
            "vfs_opts": options.split(","),
            "source": _plain(source),
            "filesystem": filesystem,
        }
        return found if self.usage is None else found | {"usage": await self._usage(path)}

    async def _usage(self, path: str) -> int:
        """Percent of the blocks that are used."""
        try:
            with trio.fail_after(self.timeout * MILLISECOND):
                status = await in_thread(os.statvfs, path, abandon_on_cancel=True)
        except trio.TooSlowError:
            raise ResourceError(f"no answer within {self.timeout} ms") from None
        return round(100 * (1 - status.f_bfree / status.f_blocks)) if status.f_blocks else 0


def _mounts(path: str) -> list[list[str]]:
    """The lines of proc_pid_mountinfo(5) for a mount point."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        return [entry for line in table if _plain((entry := line.split())[4]) == path]


def _plain(text: str) -> str:
    """Without the octal escapes of that file."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)
