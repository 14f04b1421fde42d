"""The desired state of a mount, and the observed state: the two inputs of the planner."""

from __future__ import annotations

from typing import NamedTuple

from reactor.hostfs import NormalForms
from reactor.resources.mount.fstab import Entry
from reactor.resources.mount.mount_table import Mounted


class Desired(NamedTuple):
    """The desired state. ``options`` are the options of ``entry`` in the order of the manifest."""

    ensure: str
    entry: Entry
    options: tuple[str, ...] = ()
    forms: NormalForms | None = None
    """The spellings of the kernel, as far as they are known, for the values of this mount."""


class MountState(NamedTuple):
    """The observed state: the lines of /etc/fstab, the mounts (topmost last), and whether that is the desired device.

    If the kernel only spells an option of the topmost mount differently, it has the spelling of the manifest here.
    """

    entries: tuple[Entry, ...] = ()
    mounts: tuple[Mounted, ...] = ()
    same_device: bool = True
    is_dead: bool = False
    """Whether the process has ended that serves the topmost mount, which must be mounted again then."""
