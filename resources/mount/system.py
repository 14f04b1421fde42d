"""Mounts and unmounts, with the programs mount(8) and umount(8): they know all the helpers for all file systems.

Changes the table of the next boot as well, and has systemd read it.
"""

from __future__ import annotations

import os.path
from contextlib import suppress

from reactor import ResourceError, fragile_mounts
from resources import textfile
from resources.mount.devices import is_same
from resources.mount.fstab import FSTAB
from resources.mount.options import for_remount
from resources.mount.state import Desired
from resources.mount.table import Mounted, mounts_at
from resources.process import perform
from resources.service.on_bus import systemd_on_bus
from watchers.dbus import NoBusError, Scope


async def mount(desired: Desired) -> None:
    """Mount it. Raises ResourceError when that can't be done."""
    entry = desired.entry
    await fragile_mounts().ask(entry.point)
    _require_mount_point(entry.point)
    options = ",".join(desired.options) or "defaults"
    await perform("mount", "-t", entry.fstype, "-o", options, "--", entry.device, entry.point)


def _require_mount_point(path: str) -> None:
    """Raises ResourceError when nothing can be mounted at ``path`` so that it is found there."""
    if not os.path.exists(path):
        hint = f"declare file#{path} with ensure: directory, to go before this"
        raise ResourceError(f"the mount point {path} does not exist", hint)
    if os.path.islink(path):  # the kernel would mount it there, again at each look here
        there = os.path.realpath(path)
        raise ResourceError(f"the mount point {path} is a link to {there}", f"name it mount#{there}")


async def remount(desired: Desired, top: Mounted) -> None:
    """Give what is mounted the options that are asked for. Raises ResourceError when it can't take them."""
    options = for_remount(desired.options, top.fstype)
    # With the device and the mount point given, mount(8) takes no options from /etc/fstab.
    await perform("mount", "-t", top.fstype, "-o", options, "--", desired.entry.device, desired.entry.point)


async def exchange(desired: Desired) -> None:
    """Take away what hides it, or is mounted in its place. Raises ResourceError when that is busy."""
    entry = desired.entry
    await unmount(entry.point, 1)
    below = mounts_at(entry.point)
    if not below or not await is_same(entry.device, entry.fstype, entry.options, below[-1], entry.point):
        await mount(desired)


async def unmount(point: str, times: int) -> None:
    """Unmount the topmost ``times`` of what is mounted there. Raises ResourceError when one of them is busy."""
    for _ in range(times):
        try:
            await perform("umount", "--", point)
        except ResourceError as error:
            raise ResourceError(error.message, f"see who uses it: fuser -vm {point}") from error


async def change_table(change: textfile.Change) -> None:
    """Change /etc/fstab. Raises ResourceError when it can't be written.

    systemd makes its mount units of it, and would go on acting by those of the table before. Where it can't be reached
    there is nobody to act.
    """
    try:
        systemd = await systemd_on_bus(Scope.SYSTEM)
    except NoBusError:
        await textfile.edit(FSTAB, change)
        return
    with suppress(NoBusError):
        async with systemd.regenerating(FSTAB):
            await textfile.edit(FSTAB, change)
