"""The observed state of a user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reactor.resources.accounts.database import PasswdLine, ShadowLine


@dataclass(frozen=True, slots=True)
class UserState:
    """The state of a user. ``shadow`` is None if it was not read; ``numbers`` are the gids of all groups, by name.

    ``lacks_group``: there is no group with the gid of the primary group. ``losses``: what userdel(8) removes together
    with the user, for messages.
    """

    account: PasswdLine | None = None
    shadow: ShadowLine | None = None
    groups: tuple[str, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    gets_group: bool = False
    """Whether useradd(8) would create a group of the same name with the user."""
    lacks_group: bool = False
    lacks_home: bool = False
    """Whether the home directory is missing, and must be created."""
    losses: tuple[str, ...] = ()
    foreign_home: str = ""
    """Why the home directory does not belong to this user alone, for messages; empty if it does."""

    @property
    def left(self) -> str:
        """The end of a sentence about a home directory that stays; empty if it belongs to this user alone."""
        return (
            f"; left {self.account.home}, which is {self.foreign_home}"
            if self.account and self.foreign_home
            else ""
        )
