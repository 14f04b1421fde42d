"""The rules ``group``, ``kernel-param``, ``mount`` and ``user``: accounts, kernel parameters and mounts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reactor import fragile_mounts, in_thread, read_mounts
from reactor.resources.accounts.database import find_group, find_user, groups
from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Milliseconds, Rule, answer_within


class UserRule(Rule):
    """A user in /etc/passwd, and its groups."""

    username: str | None = None
    """The name; by default the key."""
    exists: Expected = True
    uid: Expected = None
    gid: Expected = None
    groups: Expected = None
    home: Expected = None
    shell: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Read the account files."""
        user = find_user(self.username or key)
        if user is None:
            return {"exists": False}
        of_it = {group.name for group in groups() if group.gid == user.gid or user.name in group.members}
        return {
            "exists": True,
            "uid": user.uid,
            "gid": user.gid,
            "groups": sorted(of_it),
            "home": user.home,
            "shell": user.shell,
        }


class GroupRule(Rule):
    """A group in /etc/group."""

    groupname: str | None = None
    """The name; by default the key."""
    exists: Expected = True
    gid: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Read the account file."""
        group = find_group(self.groupname or key)
        return {"exists": False} if group is None else {"exists": True, "gid": group.gid}


class KernelParamRule(Rule):
    """A parameter of the kernel, written with dots."""

    name: str | None = None
    """The name; by default the key."""
    value: Expected

    async def find(self, key: str) -> Mapping[str, Any]:
        """Read the parameter below /proc/sys."""
        return {"value": _read(self.name or key)}


def _read(name: str) -> str:
    return Path("/proc/sys", name.replace(".", "/")).read_text(encoding="utf-8").strip()


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
    """The longest wait for a file system that does not answer, in milliseconds."""

    async def find(self, key: str) -> Mapping[str, Any]:
        """Find the mount in the mount table. The last mount on a path hides earlier ones.

        Raises ResourceError after ``timeout``.
        """
        path = self.mountpoint or key
        here = [mount for mount in read_mounts() if mount.point == path]
        if not here:
            return {"exists": False}
        top = here[-1]
        found = {
            "exists": True,
            "opts": [*top.options],
            "vfs_opts": [*top.super_options],
            "source": top.source,
            "filesystem": top.fstype,
        }
        return found if self.usage is None else found | {"usage": await self._usage(path)}

    async def _usage(self, path: str) -> int:
        """The used blocks, in percent."""
        with answer_within(self.timeout):
            await fragile_mounts().ask(path)
            status = await in_thread(os.statvfs, path, abandon_on_cancel=True)
        return round(100 * (1 - status.f_bfree / status.f_blocks)) if status.f_blocks else 0
