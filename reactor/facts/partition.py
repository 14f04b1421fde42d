"""The facts ``partition``: mounted file systems on devices, and their usage."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from reactor.facts.gathering import Gatherer, read
from reactor.mountinfo import MountInfo, read_mounts


def gather(gatherer: Gatherer) -> dict[str, Any]:
    """Return the facts under ``partition``. A file system that does not answer has no usage facts."""
    listed = gatherer({"partition.partitions": partitions})
    if not listed:
        return {}
    found = listed["partition.partitions"]
    jobs = {
        f"partition.usage of {mount}": partial(usage, mount, fstype)
        for mount, fstype in {each["mountpoint"]: each["fstype"] for each in found}.items()
    }
    return {"partitions": found, "usage": list(gatherer(jobs).values())}


def partitions() -> list[dict[str, Any]]:
    """Return the mounts whose file system needs a device, and those of ZFS. Raises OSError if /proc is missing."""
    on_devices = {"zfs"} | {
        line.strip() for line in read("/proc/filesystems").splitlines() if not line.startswith("nodev")
    }
    found = map(_partition, read_mounts())
    return [each for each in found if each["fstype"] in on_devices and each["device"] != "none"]


def usage(mountpoint: str, fstype: str) -> dict[str, Any]:
    """Return the usage of a file system in bytes. ``free`` is the space that users other than root may still use."""
    found = os.statvfs(mountpoint)
    free, used = found.f_bavail * found.f_frsize, (found.f_blocks - found.f_bfree) * found.f_frsize
    inodes_used = found.f_files - found.f_ffree
    return {
        "path": mountpoint,
        "fstype": fstype,
        "total": found.f_blocks * found.f_frsize,
        "free": free,
        "used": used,
        "usedPercent": used / (used + free) * 100 if used + free else 0.0,
        "inodesTotal": found.f_files,
        "inodesUsed": inodes_used,
        "inodesFree": found.f_ffree,
        "inodesUsedPercent": inodes_used / found.f_files * 100 if found.f_files else 0.0,
    }


def _partition(mount: MountInfo) -> dict[str, Any]:
    bind = ["bind"] if mount.root != "/" else []
    return {
        "device": _real_device(mount.source, mount.device),
        "mountpoint": mount.point,
        "fstype": mount.fstype,
        "opts": [*mount.options, *bind],
    }


def _real_device(device: str, number: str) -> str:
    """Return the device behind an indirect name: a link of the device mapper, or the kernel's /dev/root."""
    if device == "/dev/root":
        return f"/dev/{os.path.basename(os.path.realpath(f'/sys/dev/block/{number}'))}"
    return os.path.realpath(device) if device.startswith("/dev/mapper/") else device
