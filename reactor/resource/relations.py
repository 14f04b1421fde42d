"""What a resource says of the host to others: its relations, its claims, and what a sandbox must leave open to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import NamedTuple


class Relations(NamedTuple):
    """Absolute paths, and accounts such as ``user#ada`` and ``group#33``, by what the resource does with them.

    - ``provides``: it exists because of this resource. Whatever depends on it goes after this.
    - ``removes``: it is gone because of this resource. Whatever depends on it goes before this.
    - ``clears``: whatever is there now, or below it, is taken away: by unmounting a file system, by removing a home. What
      depends on something there goes before this; what must be there comes after it. A path that ends in ``/`` means what
      is below the directory only.
    - ``depends_on``: this resource relies on it: the nearest resource at or above the path goes first. A path that ends in
      ``/`` means all that is in a directory: whatever is provided below it goes first too.
    - ``purges``: a directory in which this resource removes everything that no resource manages.
      ``declared.managed_paths`` then has the paths below it that others provide.
    """

    provides: Collection[str] = ()
    removes: Collection[str] = ()
    clears: Collection[str] = ()
    depends_on: Collection[str] = ()
    purges: str | None = None


NO_RELATIONS = Relations()

PATHS = "path"
"""The space of paths. Its attributes: ``ensure``, ``content``, ``owner``, ``group``, ``mode`` as in ``0644``."""
MOUNT_POINTS = "mount point"
"""The space of directories on which something is mounted."""
UNITS = "unit"
"""The space of systemd's units."""
FILE_SPACES = frozenset((PATHS, MOUNT_POINTS))
"""Whose keys are absolute paths: a symlink or a bind mount above can give one thing two of them."""


CHANGING_SPACES = FILE_SPACES | {UNITS}
"""In which two keys may become one thing while a run lasts: by a symlink, by an alias."""


class Claim(NamedTuple):
    """What the thing ``key`` in ``space`` (``path``, ``unit``) shall be, by attribute.

    An attribute should have the name of the property that asks for it: errors point there.
    """

    space: str
    key: str
    wishes: Mapping[str, object]

    @property
    def is_attributes_only(self) -> bool:
        """Whether this is about the owner and the mode of a file that is there, and not about its content."""
        return self.wishes.get("ensure") == "present" and "content" not in self.wishes

    def disagreement(self, other: Claim) -> list[str]:
        """The attributes of which the two, about one thing, want different values."""
        return [
            name for name in self.wishes if name in other.wishes and self.wishes[name] != other.wishes[name]
        ]


class Exclusion(NamedTuple):
    """That in ``space`` nothing may be claimed but the keys in ``but``, as ``attribute`` of the resource says."""

    space: str
    but: Collection[str]
    attribute: str


class SandboxAccess(Enum):
    """One such thing, as the end of a sentence whose subject is the resource."""

    ANYTHING = "may run any command"
    MOUNT = "mounts, which the host would not see from a mount namespace"
    SWAP = "turns swap on or off"
    NAMESPACE = "acts in a network namespace"
    NETWORK = "changes the network"
    TUNABLE = "sets a parameter of the kernel"
    HOSTNAME = "sets the name of the host"
    SETGID = "is a directory that may have a setgid bit to keep"
