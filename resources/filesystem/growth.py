"""Grows file systems to the size of their devices. Nothing is ever shrunk.

ext2, ext3 and ext4 are grown on the device. xfs and btrfs only grow while they are mounted: they are mounted for that in a
mount namespace of its own, which nobody else sees, also if they are mounted elsewhere.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import tempfile
from typing import Final

from reactor import in_thread, read_mounts
from reactor.resources.filesystem.device import refuse_used
from reactor.resources.filesystem.tools import call, require_answers

_EXT: Final = ("ext2", "ext3", "ext4")
GROWN: Final = (*_EXT, "xfs", "btrfs")
"""The types that ``resize`` can grow."""
PROGRAMS: Final = {
    **dict.fromkeys(_EXT, ("e2fsck", "resize2fs")),
    "xfs": ("unshare", "mount", "xfs_growfs"),
    "btrfs": ("unshare", "mount", "btrfs"),
}
"""The programs that grow each type."""
_MOUNTED: Final = {"xfs": 'xfs_growfs -d "$2"', "btrfs": 'btrfs filesystem resize "$4:max" "$2"'}
"""What grows a file system that is mounted at the second argument."""
_SUPERBLOCK: Final = 1024
"""Its offset and length on ext4, in bytes."""
_MAGIC: Final = 0xEF53
_REPAIRED: Final = 1
"""Exit code of e2fsck after it has corrected something."""
_PAGE: Final = 4096
_XFS_GEOMETRY: Final = 0x80705864
"""XFS_IOC_FSGEOMETRY_V1, see xfs_fs.h."""
_LEAST_GROUP: Final = 64
"""The blocks of the smallest group that xfs_growfs adds."""
_BTRFS_SUPERBLOCK: Final = 65536
_BTRFS_LEAST: Final = 1 << 20
"""A rest of a device that is smaller than this is not worth a resize."""


async def can_grow(fd: int, fstype: str, size: int) -> bool:
    """Whether the file system on ``fd`` is smaller than it would be made on ``size`` bytes. Raises OSError."""
    measure = {"xfs": _can_grow_xfs, "btrfs": _can_grow_btrfs}.get(fstype, _can_grow_ext)
    return await in_thread(measure, fd, size)


async def grow(fd: int, fstype: str, *, used: bool) -> None:
    """Grow the file system on ``fd`` to the size of its device. Raises ResourceError.

    An ext4 that is not ``used`` is checked before, as resize2fs wants it.
    """
    if fstype in _MOUNTED:
        await _grow_mounted(fd, fstype)
        return
    if not used:
        await call(fd, "e2fsck", "-f", "-p", "{device}", accepted=(0, _REPAIRED))
    await call(fd, "resize2fs", "{device}")


def refuse_ungrowable(fd: int, fstype: str, path: str) -> None:
    """Raise ResourceError for a file with xfs or btrfs that is in use: its loop device has to grow, too."""
    if fstype in _MOUNTED and stat.S_ISREG(os.fstat(fd).st_mode):
        refuse_used(fd, path)


async def _grow_mounted(fd: int, fstype: str) -> None:
    await require_answers(fstype)
    is_file = stat.S_ISREG(os.fstat(fd).st_mode)
    device = str(_btrfs(fd)[1]) if fstype == "btrfs" else ""
    script = f'mount -t "$1" -o "$3" -- "$0" "$2" && {_MOUNTED[fstype]} && umount "$2"'
    with tempfile.TemporaryDirectory(prefix="reactor-grow-") as point:
        options = "loop" if is_file else "defaults"
        words = ("unshare", "--mount", "--propagation", "private", "sh", "-c", script)
        await call(fd, *words, "{device}", fstype, point, options, device)


def _can_grow_xfs(fd: int, size: int) -> bool:
    block_size, blocks, per_group = _xfs(fd)
    reachable = size // block_size
    rest = reachable % per_group
    return blocks < (reachable - rest if rest < _LEAST_GROUP else reachable)


def _xfs(fd: int) -> tuple[int, int, int]:
    """The size of a block, the blocks, and those of a group.

    A mounted one is asked: what is on the disk is older, for up to half a minute.
    """
    for point in _points(fd):
        try:
            geometry = fcntl.ioctl(point, _XFS_GEOMETRY, bytes(112))
        finally:
            os.close(point)
        block_size, _, per_group, _, _, _, _, _, blocks = struct.unpack_from("=8IQ", geometry)
        return block_size, blocks, per_group
    block = os.pread(fd, 512, 0)
    (block_size, blocks), (per_group,) = (
        struct.unpack_from(">IQ", block, 4),
        struct.unpack_from(">I", block, 84),
    )
    return block_size, blocks, per_group


def _points(fd: int) -> list[int]:
    """A directory of the file system that is on the device, if it is mounted: a descriptor that the caller closes."""
    found = os.fstat(fd)
    if not stat.S_ISBLK(found.st_mode):
        return []
    number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    for mount in read_mounts():
        if mount.device == number:
            try:
                point = os.open(mount.point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError:
                continue
            if os.fstat(point).st_dev == found.st_rdev:  # else another file system is mounted over it
                return [point]
            os.close(point)
    return []


def _can_grow_btrfs(fd: int, size: int) -> bool:
    return size - _btrfs(fd)[0] >= _BTRFS_LEAST


def _btrfs(fd: int) -> tuple[int, int]:
    """The bytes of the device that are in use by btrfs, and the number of the device in it."""
    number, used = struct.unpack_from("<2Q", os.pread(fd, _PAGE, _BTRFS_SUPERBLOCK), 0xC9)
    return used, number


def _can_grow_ext(fd: int, size: int) -> bool:
    block = os.pread(fd, _SUPERBLOCK, _SUPERBLOCK)
    if len(block) < _SUPERBLOCK or struct.unpack_from("<H", block, 0x38)[0] != _MAGIC:
        return False
    _, blocks, _, _, _, first, log_size, _, per_group, _, inodes = struct.unpack_from("<11I", block, 0)
    is_64bit = struct.unpack_from("<I", block, 0x60)[0] & 0x80
    if is_64bit:
        blocks |= struct.unpack_from("<I", block, 0x150)[0] << 32
    block_size = 1024 << log_size
    inode_size = struct.unpack_from("<H", block, 0x58)[0] or 128
    reachable = size // _PAGE * _PAGE // block_size
    # resize2fs leaves out a last group that has no room for more than its own tables.
    tables = -(-inodes * inode_size // block_size)
    reserved = struct.unpack_from("<H", block, 0xCE)[0]
    groups = -(-reachable // per_group)
    descriptors = -(-groups * (64 if is_64bit else 32) // block_size)
    rest = (reachable - first) % per_group
    if rest < 3 + tables + reserved + descriptors + 50:
        reachable -= rest
    return bool(blocks < reachable)
