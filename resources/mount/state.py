"""What a mount resource asks for, and what was found: the two inputs of the decision."""

from __future__ import annotations

from typing import NamedTuple

from reactor.hostfs import NormalForms
from reactor.resources.mount.fstab import Entry
from reactor.resources.mount.mount_table import Mounted


class Desired(NamedTuple):
    """What a mount resource asks for. ``options`` are those of ``entry`` in the order of the manifest."""

    ensure: str
    entry: Entry
    options: tuple[str, ...] = ()
    forms: NormalForms | None = None
    """How the kernel was seen to write down what this mount was given."""


class MountState(NamedTuple):
    """What was found: the lines of /etc/fstab, what is mounted (the topmost last), whether that is the device.

    Options of the topmost that the kernel tells in words of its own are in those of the manifest.
    """

    entries: tuple[Entry, ...] = ()
    mounts: tuple[Mounted, ...] = ()
    same_device: bool = True
