"""The programs that make, label and grow each type of file system, and their arguments."""

from __future__ import annotations

from typing import Final, NamedTuple

from reactor import ResourceError, fragile_mounts
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
RELABELLED_IN_USE: Final = ("ext2", "ext3", "ext4")
"""The types whose label can be changed while they are mounted."""


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


async def require_answers(fstype: str) -> None:
    """Raise ResourceError if a mount of the host does not answer and the programs of ``fstype`` would wait for it.

    Those of xfs look at every mount.
    """
    if fstype != "xfs":
        return
    mounts = fragile_mounts()
    for point in [*mounts.by_point]:
        try:
            await mounts.ask(point)
        except ResourceError as error:
            raise ResourceError(
                f"the programs of xfs look at every mount, and {error.message}", error.hint
            ) from error


async def relabel(fd: int, fstype: str, label: str) -> None:
    """Change the label of the file system on ``fd``. Raises ResourceError."""
    await require_answers(fstype)
    await call(fd, *(label if word == "{label}" else word for word in TOOLS[fstype].relabel))
