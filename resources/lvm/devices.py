"""The devices of a volume group: what each holds, and in which group it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from reactor import ResourceError
from reactor.hostfs import ErrorContext
from reactor.resources.filesystem.device import Content, content_of, opened, refuse_used
from reactor.resources.filesystem.tools import call

FIELDS: Final = (
    "pv_name", "vg_name", "dev_size", "pe_start", "pv_pe_count", "pv_pe_alloc_count", "pv_missing", "vg_extent_size",
)  # fmt: skip
"""What `pvs` reports for `Member`."""


class Member(NamedTuple):
    """A physical volume that LVM has found. ``group`` is empty while it is in none; ``used`` are extents of volumes."""

    node: str
    group: str
    used: int
    can_grow: bool
    is_missing: bool


class Device(NamedTuple):
    """A declared device: its path, its node, the physical volume on it, or its other content; neither if it is blank."""

    path: str
    node: str
    member: Member | None
    content: Content | None


def member_of(row: Mapping[str, str]) -> Member:
    """A row of `pvs`."""
    extent, count = int(row["vg_extent_size"]), int(row["pv_pe_count"])
    reachable = (int(row["dev_size"]) - int(row["pe_start"])) // extent if extent else 0
    return Member(
        row["pv_name"],
        row["vg_name"],
        int(row["pv_pe_alloc_count"]),
        can_grow=reachable > count,
        is_missing=bool(row["pv_missing"]),
    )


async def device_at(path: str, members: Sequence[Member]) -> Device:
    """The block device at ``path``. Raises ResourceError if there is none, or it can't be read."""
    with opened_block(path) as (fd, node):
        number = os.fstat(fd).st_rdev
        member = next((each for each in members if _number(each.node) == number), None)
        return Device(path, node, member, None if member else await content_of(fd, path))


async def prepare(device: Device, *, force: bool) -> None:
    """Look once more that ``device`` may become a physical volume; with ``force``, remove what else it holds.

    Raises ResourceError for one that is in use, or holds something by now.
    """
    with opened_block(device.path) as (fd, node):
        if node != device.node:
            raise ResourceError(f"{device.path} now leads elsewhere", "the next check sees where")
        refuse_used(fd, device.path)
        if device.member is not None or (content := await content_of(fd, device.path)) is None:
            return
        if not force:
            raise not_blank(device.path, content)
        await call(fd, "wipefs", "--all", "--quiet", "{device}")


def refuse_unusable(device: Device) -> None:
    """Raise ResourceError for a device that is in use."""
    with opened_block(device.path) as (fd, _):
        refuse_used(fd, device.path)


def not_blank(path: str, content: Content) -> ResourceError:
    """The error for a device that holds something."""
    hint = f"use another device, empty it (wipefs --all {path}), or write force: true to destroy that"
    return ResourceError(f"{path} is not blank: it holds {content.words}", hint)


@contextmanager
def opened_block(path: str) -> Iterator[tuple[int, str]]:
    """The open block device at ``path`` and its node in /dev: programs of LVM take no descriptor. Raises ResourceError."""
    if not os.path.exists(path):
        hint = "require the resource that creates it"
        raise ResourceError(f"the device {path} does not exist", hint, missing=path)
    with opened(path) as fd, ErrorContext(f"read {path}"):
        found = os.fstat(fd)
        if not stat.S_ISBLK(found.st_mode):
            raise ResourceError(f"{path} is not a block device", "name a disk or a partition")
        yield fd, _node_of(found.st_rdev)


def _node_of(number: int) -> str:
    """The node that the kernel gives the device. Raises OSError."""
    with open(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/uevent", encoding="utf-8") as file:
        fields = dict(line.rstrip("\n").partition("=")[::2] for line in file)
    return os.path.join("/dev", fields["DEVNAME"])


def _number(node: str) -> int | None:
    try:
        return os.stat(node).st_rdev
    except OSError:  # [unknown], a missing one
        return None
