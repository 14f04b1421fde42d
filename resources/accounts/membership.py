"""Who is to come into groups and who is to leave: of a group its users, of a user the groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

Membership = Literal["minimum", "inclusive"]
"""Whether others may be there, too: `minimum` leaves them, `inclusive` takes them out."""


class Moves(NamedTuple):
    """Names that ``come`` and ``go``, and all that are there ``after`` that. It is false when none does."""

    come: list[str]
    go: list[str]
    after: list[str]

    def __bool__(self) -> bool:
        return bool(self.come or self.go)


def moves(found: Sequence[str], wanted: Sequence[str], membership: Membership) -> Moves:
    """What makes the names ``found`` those ``wanted``."""
    come = [name for name in wanted if name not in found]
    go = [name for name in found if name not in wanted and membership == "inclusive"]
    return Moves(come, go, [name for name in found if name not in go] + come)


def members_of(group: str) -> str:
    """The space of claims on who is in ``group``, whose keys are users."""
    return f"members of the group {group}"


def groups_of(user: str) -> str:
    """The space of claims on what ``user`` is in, whose keys are groups."""
    return f"groups of the user {user}"
