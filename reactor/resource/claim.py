"""What a resource wants of a thing that another resource may want something else of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

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
