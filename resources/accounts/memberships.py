"""The members of groups, which the kinds `user` and `group` both manage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

Membership = Literal["minimum", "inclusive"]
"""Whether other members may stay: `minimum` keeps them, `inclusive` removes them."""


class MembershipChange(NamedTuple):
    """The names ``added`` and ``removed``, and all names ``after`` the change. Falsy if nothing changes."""

    added: list[str]
    removed: list[str]
    after: list[str]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def membership_change(
    found: Sequence[str], wanted: Sequence[str], membership: Membership
) -> MembershipChange:
    """The change from the members ``found`` to those ``wanted``."""
    added = [name for name in wanted if name not in found]
    removed = [name for name in found if name not in wanted and membership == "inclusive"]
    return MembershipChange(added, removed, [name for name in found if name not in removed] + added)


def members_of(group: str) -> str:
    """The namespace of claims on the members of ``group``. Its keys are users."""
    return f"members of the group {group}"


def groups_of(user: str) -> str:
    """The namespace of claims on the groups of ``user``. Its keys are groups."""
    return f"groups of the user {user}"
