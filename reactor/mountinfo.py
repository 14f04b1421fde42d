"""The mounts that this process sees, from the kernel's table of them, proc_pid_mountinfo(5)."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

MOUNTINFO = "/proc/self/mountinfo"

_SHARED = frozenset(
    (
        "9p", "afs", "ceph", "cifs", "coda", "fuse", "gfs2", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs",
        "smb3", "smbfs", "vboxsf", "virtiofs",
    )
)  # fmt: skip

_SERVED = frozenset(("autofs", "beegfs", "fuseblk", "glusterfs", "gpfs"))
"""Those besides the shared ones that are served by somebody, who may fail to."""
_OF_THE_KERNEL = ("/proc/", "/sys/", "/dev/")
"""Where the kernel has its own: systemd mounts an autofs there on every host."""

_OCTAL = re.compile(r"\\([0-7]{3})")


class MountInfo(NamedTuple):
    """One mount. ``root`` is what is mounted of its file system, which ``source`` and ``super_options`` are about.

    ``device`` is the number of the file system, as in ``254:1``.
    """

    device: str
    root: str
    point: str
    options: tuple[str, ...]
    fstype: str
    source: str
    super_options: tuple[str, ...]


def read_mounts() -> tuple[MountInfo, ...]:
    """All mounts; of those at one point, the last hides the others. Raises OSError when there is no /proc."""
    with open(MOUNTINFO, "rb") as table:
        return tuple(map(parse_mount, os.fsdecode(table.read()).split("\n")[:-1]))


def is_shared_mount(fstype: str) -> bool:
    """Whether a file system of this type is somebody else's too: who serves it may change it unheard, or not answer."""
    return fstype in _SHARED or fstype.startswith("fuse.")


def is_fragile(info: MountInfo) -> bool:
    """Whether it may stop answering. Not the root: if that does not answer, nobody is left to say so."""
    if not (info.fstype in _SERVED or is_shared_mount(info.fstype)):
        return False
    return info.point != "/" and not info.point.startswith(_OF_THE_KERNEL)


# 36 35 98:0 /root/in/it /mount/point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue


def parse_mount(line: str) -> MountInfo:
    """One line of the table."""
    mount, _, file_system = line.partition(" - ")
    _, _, device, root, point, options, *_ = mount.split(" ")
    fstype, source, super_options = file_system.split(" ", 2)
    return MountInfo(
        device, _plain(root), _plain(point), _listed(options), fstype, _plain(source), _listed(super_options)
    )


def _listed(options: str) -> tuple[str, ...]:
    return tuple(map(_plain, options.split(",")))


def _plain(text: str) -> str:
    r"""The text without the kernel's escapes: ``\040`` is a space."""
    return _OCTAL.sub(lambda escape: chr(int(escape[1], 8)), text) if "\\" in text else text
