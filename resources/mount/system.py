"""Mounts and unmounts with mount(8) and umount(8), which know the helpers of all file systems.

Also edits /etc/fstab, and makes systemd read it.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from contextlib import ExitStack, suppress

from reactor import ResourceError, fragile_mounts
from reactor.hostfs import ErrorContext, Parent, others_may_replace
from reactor.resources import textfile
from reactor.resources.enumeration import listed
from reactor.resources.mount.comparison import for_remount, is_bind, is_same, learn, missing, respelled
from reactor.resources.mount.fstab import FSTAB, Entry
from reactor.resources.mount.kernel_log import explaining_mount
from reactor.resources.mount.mount_table import (
    Mounted,
    Operand,
    bind_source,
    is_dead,
    mount_point,
    mounts_at,
    mounts_below,
    unmount_in,
)
from reactor.resources.mount.state import Desired
from reactor.resources.process import perform
from reactor.resources.service.systemd_dbus import dbus_systemd
from reactor.watchers.dbus import NoBusError, Scope


async def mount(desired: Desired) -> None:
    """Mount the desired device. Raises ResourceError."""
    entry = desired.entry
    await fragile_mounts().ask(entry.point)
    options = ",".join(desired.options) or "defaults"
    bind = ",".join(option for option in desired.options if is_bind((option,)))
    if bind not in ("", options) and _is_changeable(entry.point):
        # mount(8) would bind, and then set the flags through the descriptor, which still leads to the directory below.
        await _run_mount(entry, entry.fstype, bind)
        options = for_remount(desired.options, entry.fstype)
    await _run_mount(entry, entry.fstype, options)
    learn(desired, None)


async def remount(desired: Desired, top: Mounted) -> None:
    """Remount with the desired options. Raises ResourceError when the file system refuses or ignores them."""
    # With the device and the mount point given, mount(8) takes no options from /etc/fstab.
    await _run_mount(desired.entry, top.fstype, for_remount(desired.options, top.fstype))
    learn(desired, top)
    if desired.forms is None or not (mounts := mounts_at(desired.entry.point)):
        return
    now = respelled(desired.options, mounts[-1], desired.forms)
    if ignored := missing(desired.options, now.options, now.fstype):
        raise ignored_by_remount(desired.entry.point, ignored)


def ignored_by_remount(point: str, options: Iterable[str]) -> ResourceError:
    """The error for options that the file system at ``point`` takes only when it is mounted."""
    words = f"a remount of {point} does not change {','.join(options)}"
    hint = f"unmount it by hand, and it is mounted with the new options: umount {point}"
    return ResourceError(words, hint)


def _is_changeable(point: str) -> bool:
    with ErrorContext(f"inspect {point}"), Parent(point) as (directory, base):
        return os.path.lexists(point) and others_may_replace(directory, base)


async def _run_mount(entry: Entry, fstype: str, options: str) -> None:
    with ErrorContext(f"mount {entry.device} at {entry.point}"), ExitStack() as opened:
        target = opened.enter_context(mount_point(entry.point))
        source = Operand(entry.device)
        if is_bind(entry.options) and entry.device.startswith("/"):
            source = opened.enter_context(bind_source(entry.device))
        literally = target.options or source.options
        with explaining_mount(entry.device, fstype):
            await perform("mount", *literally, "-t", fstype, "-o", options, "--", source.path, target.path)


async def exchange(desired: Desired) -> None:
    """Unmount the mount that hides the desired one or is in its place; then mount, unless it was only hidden.

    Raises ResourceError if that is busy.
    """
    entry = desired.entry
    await unmount(entry.point, 1)
    below = mounts_at(entry.point)
    if not below or not await is_same(entry.device, entry.fstype, entry.options, below[-1], entry.point):
        await mount(desired)


async def unmount(point: str, times: int) -> None:
    """Unmount the topmost mount, ``times`` times. Raises ResourceError when one of them is busy."""
    hint = hint_for_busy(point)
    with ErrorContext(f"unmount {point}", hint), Parent(point) as (directory, base):
        for _ in range(times):
            if is_dead(directory, base) or others_may_replace(directory, base):
                unmount_in(directory, base)
            else:
                await _run_umount(point, hint)


async def _run_umount(point: str, hint: str) -> None:
    try:
        await perform("umount", "--", point)
    except ResourceError as error:
        raise ResourceError(error.message, hint) from error


def hint_for_busy(point: str) -> str:
    """How a mount that is in use can be unmounted."""
    if below := mounts_below(point):
        return f"unmount what is mounted below it first: {listed(below)}"
    return f"see who uses it: fuser -vm {point}"


async def predict_change() -> str:
    """The effect of a change of /etc/fstab on systemd, as the end of a sentence."""
    try:
        await dbus_systemd(Scope.SYSTEM)
    except NoBusError:
        return ""
    return "; systemd would reload its units"


async def change_table(change: textfile.Change) -> None:
    """Change /etc/fstab. Raises ResourceError when it can't be written.

    systemd generates its mount units from the file, and must reload them. A systemd that can't be reached does not
    run.
    """
    try:
        systemd = await dbus_systemd(Scope.SYSTEM)
    except NoBusError:
        await textfile.edit(FSTAB, change)
        return
    with suppress(NoBusError):
        async with systemd.regenerating(FSTAB):
            await textfile.edit(FSTAB, change)
