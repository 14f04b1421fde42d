"""The programs that make, label and grow each type of file system, and their arguments."""

from __future__ import annotations

import os
import struct
from typing import Final, NamedTuple

from reactor import ResourceError, in_thread
from reactor.resources.process import ENVIRONMENT, Command, missing_rights, output_tail, run


class Tools(NamedTuple):
    """``make`` is the program with its options; the others are options, or, of ``relabel``, a program."""

    make: tuple[str, ...]
    force: str
    label: str
    uuid: str
    relabel: tuple[str, ...]
    """The program that changes the label; ``{label}`` and ``{device}`` stand for both."""
    longest_label: int
    """In bytes."""
    forcing: str
    """The letter of the options that overwrite without a question."""


_EXT: Final = (
    "-F",
    "-L",
    "-U",
    ("tune2fs", "-L", "{label}", "{device}"),
    16,
    "F",
)

TOOLS: Final = {
    "ext2": Tools(("mkfs.ext2", "-q"), *_EXT),
    "ext3": Tools(("mkfs.ext3", "-q"), *_EXT),
    "ext4": Tools(("mkfs.ext4", "-q"), *_EXT),
    "xfs": Tools(
        ("mkfs.xfs", "-q"), "-f", "-L", "-muuid=", ("xfs_admin", "-L", "{label}", "{device}"), 12, "f"
    ),
    "btrfs": Tools(
        ("mkfs.btrfs", "-q"),
        "-f",
        "-L",
        "-U",
        ("btrfs", "filesystem", "label", "{device}", "{label}"),
        255,
        "f",
    ),
    "vfat": Tools(("mkfs.vfat",), "-I", "-n", "-i", ("fatlabel", "{device}", "{label}"), 11, "I"),
    "swap": Tools(("mkswap",), "-f", "-L", "-U", ("swaplabel", "-L", "{label}", "{device}"), 16, "f"),
}
"""By the name of the type, as blkid has it."""
GROWN: Final = ("ext2", "ext3", "ext4")
"""The types that ``resize`` can grow."""
_SUPERBLOCK: Final = 1024
"""Its offset and length, in bytes."""
_MAGIC: Final = 0xEF53
_REPAIRED: Final = 1
"""Exit code of e2fsck after it has corrected something."""
_PAGE: Final = 4096


def arguments(fstype: str, label: str | None, uuid: str | None, options: tuple[str, ...]) -> tuple[str, ...]:
    """The command that makes the file system, without the device."""
    tools = TOOLS[fstype]
    found = list(tools.make)
    if label is not None:
        found += [tools.label, label]
    if uuid is not None and tools.uuid.endswith("="):
        found += [tools.uuid[:2], tools.uuid[2:] + uuid]
    elif uuid is not None:
        found += [tools.uuid, uuid.replace("-", "") if fstype == "vfat" else uuid]
    return (*found, *options)


async def call(fd: int, *words: str, accepted: tuple[int, ...] = (0,)) -> None:
    """Run a program on the device open at ``fd``, to its end even if this process is killed. Raises ResourceError.

    ``{device}`` stands for the device. A program that is interrupted could leave half a file system.
    """
    device = f"/proc/self/fd/{fd}"
    filled = tuple(device if word == "{device}" else word for word in words)
    done = await run(Command(filled, "/", ENVIRONMENT, inherited=(fd,), is_protected=True))
    if done.exit_code not in accepted:
        tail = output_tail(done.stdout, done.stderr)
        raise ResourceError(f"{words[0]} failed with exit code {done.exit_code}{tail}", missing_rights())


async def relabel(fd: int, fstype: str, label: str) -> None:
    """Change the label of the file system on ``fd``. Raises ResourceError."""
    await call(fd, *(label if word == "{label}" else word for word in TOOLS[fstype].relabel))


async def grow(fd: int, *, used: bool) -> None:
    """Grow the ext2, ext3 or ext4 on ``fd`` to the size of its device. Raises ResourceError.

    One that is not ``used`` is checked before, as resize2fs wants it.
    """
    if not used:
        await call(fd, "e2fsck", "-f", "-p", "{device}", accepted=(0, _REPAIRED))
    await call(fd, "resize2fs", "{device}")


async def can_grow(fd: int, size: int) -> bool:
    """Whether the ext2, ext3 or ext4 on ``fd`` is smaller than resize2fs would make it on ``size`` bytes. Raises OSError."""
    return await in_thread(_can_grow, fd, size)


def _can_grow(fd: int, size: int) -> bool:
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
