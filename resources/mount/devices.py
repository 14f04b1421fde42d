"""Whether what is mounted is the device that is asked for."""

from __future__ import annotations

import os

from reactor import fragile_mounts
from reactor.resources.mount.mount_table import Mounted
from reactor.resources.mount.options import is_bind
from reactor.resources.mount.tags import is_tag, node_of

_FAMILIES = {"nfs4": "nfs", "fuseblk": "fuse"}


async def is_same(device: str, fstype: str, options: frozenset[str], mounted: Mounted, point: str) -> bool:
    """Whether ``mounted``, at ``point``, shows what ``device`` does. What can't be told is taken for granted.

    Raises ResourceError when a directory that is bound is where nothing answers.
    """
    if is_bind(options):
        for path in (device, point):
            await fragile_mounts().ask(path)
        return _is_same_place(device, point)
    if fstype != "auto" and _family(fstype) != _family(mounted.fstype):
        return False
    if device.startswith("/dev/") or is_tag(device):
        return _is_same_node(device, mounted.source)
    if mounted.source.startswith("/dev/"):
        # That of a loop device for a file, whose name the kernel does not tell here.
        return True
    if "/" in device or ":" in device:
        return device.rstrip("/") == mounted.source.rstrip("/") or _family(fstype) == "fuse"
    return True  # a mere label, as of tmpfs


def _family(fstype: str) -> str:
    return _FAMILIES.get(fstype, fstype).partition(".")[0]


def _is_same_place(device: str, point: str) -> bool:
    try:
        return os.path.samefile(device, point)
    except FileNotFoundError:
        return False


def _is_same_node(device: str, source: str) -> bool:
    path = node_of(device)
    if not os.path.exists(path):  # udev has not made it, or spells it in another way
        return True
    return os.path.realpath(path) == os.path.realpath(source)
