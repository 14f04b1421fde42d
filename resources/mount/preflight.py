"""Checks, for a dry run, that a mount can be made, changed or unmounted. Nothing is changed."""

from __future__ import annotations

import os

from reactor import ResourceError, fragile_mounts
from reactor.hostfs import ErrorContext, Parent
from reactor.resources.mount.comparison import is_bind, overlaid, unchangeable
from reactor.resources.mount.fstab import Entry, is_tag, node_of
from reactor.resources.mount.fstypes import helper_of, is_unknown
from reactor.resources.mount.mount_table import is_dead, mount_point, mounts_below
from reactor.resources.mount.state import Desired, MountState
from reactor.resources.mount.system import hint_for_busy, ignored_by_remount
from reactor.resources.process import ENVIRONMENT, Command, run
from reactor.resources.trusted_sources import refuse_foreign_file, refuse_foreign_place

_NOT_FOUND = 1
"""The exit code of findfs(8) for a tag that no device has."""


async def refuse(desired: Desired, state: MountState) -> None:
    """Raise the ResourceError with which the change from ``state`` to ``desired`` would fail."""
    _refuse_unmount(desired, state)
    entry = desired.entry
    if desired.ensure != "mounted":
        return
    if state.mounts and state.same_device and not state.is_dead:
        if ignored := unchangeable(desired.options, state.mounts[-1]):
            raise ignored_by_remount(entry.point, ignored)
        return
    await fragile_mounts().ask(entry.point)
    with ErrorContext(f"mount {entry.device} at {entry.point}"):
        hides_point = _hides_point(entry.point)
        if not hides_point:
            with mount_point(entry.point):
                pass
    if entry.device.startswith("/"):
        await fragile_mounts().ask(entry.device)
        _refuse_source("device", entry.device)
    elif is_tag(entry.device):
        await _refuse_tag(entry.device)
    for path in overlaid(entry.fstype, desired.options):
        await fragile_mounts().ask(path)
        _refuse_source("directory", path)
    if not hides_point:
        _refuse_file(entry)
    if not is_bind(entry.options):
        _refuse_type(entry.fstype)


def _hides_point(point: str) -> bool:
    """Whether a file system without its server hides the mount point: nothing can be said of it before the unmount."""
    with Parent(point) as (directory, base):
        return is_dead(directory, base)


def _refuse_unmount(desired: Desired, state: MountState) -> None:
    """Raise ResourceError if the last mount at the mount point would go while others are below it."""
    exchanges = desired.ensure == "mounted" and (state.is_dead or not state.same_device)
    if len(state.mounts) != 1 if exchanges else desired.ensure in ("mounted", "present"):
        return
    point = desired.entry.point
    if state.mounts and (below := mounts_below(point)):
        raise ResourceError(f"can't unmount {point}: {below[0]} is mounted below it", hint_for_busy(point))


async def refuse_foreign_device(entry: Entry) -> None:
    """Raise ResourceError if another user can change which device is mounted, or the file that holds a file system.

    Who can write to such a file puts programs with the rights of root into it. What is bound brings no files of its own.
    """
    if not entry.device.startswith("/") or is_bind(entry.options):
        return
    await fragile_mounts().ask(entry.device)
    refuse_foreign_place(entry.device, "what is mounted")
    if os.path.isfile(entry.device):  # noqa: ASYNC240 - its mount has just answered
        refuse_foreign_file(entry.device, "what is mounted")


def _refuse_file(entry: Entry) -> None:
    is_file = is_bind(entry.options) and os.path.isfile(entry.device)
    if is_file and os.path.isdir(entry.point):
        hint = "name a file: a directory takes only a directory"
        raise ResourceError(
            f"the mount point {entry.point} is a directory, and {entry.device} is a file", hint
        )
    takes_directory = not is_bind(entry.options) or os.path.isdir(entry.device)
    if takes_directory and not os.path.isdir(entry.point):
        hint = "name a directory: a file takes only a file that is bound"
        raise ResourceError(f"the mount point {entry.point} is not a directory", hint, missing=entry.point)


def _refuse_type(fstype: str) -> None:
    if is_unknown(fstype):
        hint = f"correct it, or install what brings {helper_of(fstype)} or the kernel module"
        words = f"neither the kernel nor mount(8) knows the type of file system {fstype!r}"
        raise ResourceError(words, hint, missing=helper_of(fstype))


async def _refuse_tag(device: str) -> None:
    """Raise ResourceError if findfs(8) finds no device with the tag; mount(8) would not either."""
    try:
        code = (await run(Command(("findfs", device), "/", ENVIRONMENT))).exit_code
    except ResourceError:  # without the program, only mounting tells
        return
    if code == _NOT_FOUND:
        hint = "correct it, or require the resource that makes the file system; this lists them: lsblk --fs"
        raise ResourceError(f"there is no device with {device}", hint, missing=node_of(device))


def _refuse_source(what: str, path: str) -> None:
    if not os.path.exists(path):
        hint = "correct it, or require the resource that creates it"
        raise ResourceError(f"the {what} {path} does not exist", hint, missing=path)
