"""The mounts that this process sees, from proc_pid_mountinfo(5)."""

from __future__ import annotations

import os
import re

from reactor.named_tuple import NamedTuple

MOUNTINFO = "/proc/self/mountinfo"

_SHARED = frozenset(
    (
        "9p", "afs", "ceph", "cifs", "coda", "fuse", "gfs2", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs",
        "smb3", "smbfs", "vboxsf", "virtiofs",
    )
)  # fmt: skip

_SERVED = frozenset(("autofs", "beegfs", "fuseblk", "glusterfs", "gpfs"))
"""File systems that need a server or a daemon, which may fail, besides the shared file systems."""
_OF_THE_KERNEL = ("/proc/", "/sys/", "/dev/")
"""Mount points that belong to the kernel: systemd mounts an autofs there on every host."""

_OCTAL = r"\\([0-7]{3})"


class MountInfo(NamedTuple):
    """One mount. ``root`` is the directory of its file system that is mounted.

    ``source`` and ``super_options`` are properties of the file system. ``device`` is its number, such as ``254:1``.
    """

    device: str
    root: str
    point: str
    options: tuple[str, ...]
    fstype: str
    source: str
    super_options: tuple[str, ...]


def read_mounts() -> tuple[MountInfo, ...]:
    """Return all mounts. Of several at one mount point, the last hides the others.

    Raises OSError if /proc is missing.
    """
    with open(MOUNTINFO, "rb") as table:
        return tuple(map(parse_mount, os.fsdecode(table.read()).split("\n")[:-1]))


def is_shared_mount(fstype: str) -> bool:
    """Whether other hosts can change a file system of this type.

    There are no events for that, and its server may fail.
    """
    return fstype in _SHARED or fstype.startswith("fuse.")


def is_fragile(info: MountInfo) -> bool:
    """Whether the mount may stop responding. The root mount never counts: this process could not run without it."""
    if not (info.fstype in _SERVED or is_shared_mount(info.fstype)):
        return False
    return info.point != "/" and not info.point.startswith(_OF_THE_KERNEL)


# 36 35 98:0 /root/in/it /mount/point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue


def parse_mount(line: str) -> MountInfo:
    """Parse one line of the table."""
    mount, _, file_system = line.partition(" - ")
    _, _, device, root, point, options, *_ = mount.split(" ")
    fstype, source, super_options = file_system.split(" ", 2)
    return MountInfo(
        device, _plain(root), _plain(point), _listed(options), fstype, _plain(source), _listed(super_options)
    )


def _listed(options: str) -> tuple[str, ...]:
    return tuple(map(_plain, options.split(",")))


def _plain(text: str) -> str:
    r"""Return the text without the kernel's escapes: ``\040`` is a space."""
    return re.sub(_OCTAL, lambda escape: chr(int(escape[1], 8)), text) if "\\" in text else text
