"""The observed state of a link."""

from __future__ import annotations

from dataclasses import dataclass, field

from reactor.resources.network.boot_files import FoundFile
from reactor.resources.network.losses import NONE, Losses

MISSING = "missing"
"""The state of a link that does not exist, of which files were read."""


@dataclass(frozen=True, slots=True)
class LinkState:
    """An existing link. None for a property that it does not have, or that was not queried.

    ``carries_default`` is queried only if the link will be removed or go down, ``losses`` (the things that the kernel
    removes as well) only before such a change. ``joins_down``: the desired master accepts a link only while it is
    down.
    """

    state: str
    mtu: int = 1500
    address: str | None = None
    type: str | None = None
    master: str | None = None
    parent: str | None = None
    id: int | None = None
    mode: str | None = None
    remote: str | None = None
    carries_default: bool = False
    losses: Losses = NONE
    joins_down: bool = False
    index: int = field(default=0, compare=False)
    """The index of the link in its namespace."""
    files: tuple[FoundFile, ...] = field(default=(), repr=False)
    """Its files for the next boot."""
