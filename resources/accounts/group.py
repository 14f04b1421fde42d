"""The kind `group`: its properties, and the actions that it plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal, Self

from pydantic import Field, ValidationError

from reactor import (
    Action,
    Claim,
    Exclusion,
    Flag,
    PathState,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
)
from reactor.resources.accounts import commands
from reactor.resources.accounts.database import GROUP, GroupLine, find_group
from reactor.resources.accounts.memberships import Membership, groups_of, members_of, membership_change
from reactor.resources.accounts.numbers import GROUP_NUMBERS, Choice
from reactor.resources.accounts.preflight import refuse_group, refuse_removal
from reactor.resources.accounts.property_types import (
    AccountId,
    AccountName,
    AccountNames,
    accounts_named,
    irreversible,
)


class Group(Resource[GroupLine | None], kind="group"):
    """Manage one group of this host and its members."""

    example = "www --gid 800"
    provides_only_its_own = True

    name: AccountName
    ensure: Literal["present", "absent"] = "present"
    gid: AccountId | None = None
    """The number of the group; unset, a new group gets a free number."""
    users: AccountNames | None = Field(default=None, alias="members")  # a resource has members of its own
    """The members. Each user must exist. Users whose primary group this is need not be listed."""
    membership: Membership = "minimum"
    """Whether other users may be members, too: `minimum` keeps them, `inclusive` removes them."""
    system: Flag = False
    """Whether a new group gets a number from the range for system groups."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "absent" and (self.name == "root" or self.gid == 0):
            yield PropertyProblem(("ensure",), "the group root can't be absent", "name the group to remove")

    def watches(self) -> Iterable[Watch]:
        """The file of groups."""
        yield PathWatch(GROUP)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The group by name and number.

        Depends on: The file of groups.
        """
        group = tuple(accounts_named("group", self.name, self.gid))
        if self.ensure == "absent":
            return Relations(removes=group, depends_on=(GROUP,))
        chooses = (GROUP_NUMBERS,) if self.gid is None else ()
        return Relations(provides=group, depends_on=(GROUP,), chooses=chooses)

    def sandbox_access(self) -> Iterable[str]:
        """The file of groups, with its lock and backup files."""
        return (GROUP,)

    def claims(self) -> Iterable[Claim]:
        """The name, the gid, and for each member that the user exists and is in this group."""
        yield Claim("group", self.name, {"ensure": self.ensure, "gid": self.gid})
        if self.ensure == "absent":
            return
        if self.gid is not None:
            yield Claim(GROUP_NUMBERS, str(self.gid), {"name": self.name})
        for user in self.users or ():
            yield Claim("user", user, {"ensure": "present"})
            yield Claim(groups_of(user), self.name, {"members": True})

    def excludes(self) -> Iterable[Exclusion]:
        """All other members, with ``membership: inclusive``."""
        if self.ensure == "present" and self.users is not None and self.membership == "inclusive":
            yield Exclusion(members_of(self.name), self.users, "members")

    def lasting_state(self) -> Sequence[PathState]:
        """The file of groups."""
        return (PathState(GROUP, "read"),)

    async def observe(self) -> GroupLine | None:
        """The group; None if there is none. Raises ResourceError when the file can't be read."""
        return find_group(self.name)

    def plan(self, state: GroupLine | None, *, refresh: bool) -> Plan:  # noqa: ARG002  nothing to refresh
        """Create or change the group, then its members. Raises ResourceError instead of removing group 0."""
        if self.ensure == "absent":
            return () if state is None else (self._remove(state),)
        if state is None:
            plan = [self._create()]
        elif self.gid in (None, state.gid):
            plan = []
        else:
            words = f"changed gid from {state.gid} to {self.gid}"
            plan = [self._step(words, "groupmod", "--gid", str(self.gid))]
        return (*plan, *self._change_members(() if state is None else state.members))

    async def preflight(self, state: GroupLine | None) -> None:
        """Check that the files can be written, the gid is free, the members exist, and no user has the group to remove."""
        commands.refuse_unwritable(self.plan(state, refresh=False))
        if self.ensure == "absent":
            refuse_removal(state)
        else:
            await refuse_group(self.name, self.gid, self.users or (), state)

    async def reversal(self, state: GroupLine | None) -> Self:
        """The group as it was, or no group."""
        if state is None:
            return type(self)(name=self.name, ensure="absent")
        members = None if self.users is None and self.ensure == "present" else state.members
        try:
            return type(self)(name=self.name, gid=state.gid, members=members, membership="inclusive")
        except ValidationError as error:
            raise irreversible(f"the group {self.name}") from error

    def is_undone_by(self, recorded: Self) -> bool:
        """Whether the reversal has the members, or this changes none."""
        keeps_members = self.users is None and self.ensure == "present"
        return keeps_members or recorded.ensure == "absent" or recorded.users is not None

    def _create(self) -> Action:
        options = ["--system"] if self.system else []
        if self.gid is not None:
            return self._step(
                f"created the group with gid {self.gid}", "groupadd", *options, "--gid", str(self.gid)
            )
        choice = Choice((GROUP_NUMBERS,), self.declared.reserved, self.system)
        return Action.proven(
            "created the group",
            partial(commands.create, "groupadd", "--gid", choice, *options, "--", self.name),
        )

    def _remove(self, state: GroupLine) -> Action:
        if state.gid == 0:
            raise ResourceError(f"{self.name} has gid 0; refusing to remove it", "name the group to remove")
        return self._step("removed the group", "groupdel")

    def _change_members(self, found: tuple[str, ...]) -> Plan:
        if self.users is None:
            return ()
        if not (change := membership_change(found, self.users, self.membership)):
            return ()
        words = [f"added {', '.join(change.added)}"] if change.added else []
        words += [f"removed {', '.join(change.removed)}"] if change.removed else []
        return (self._step(" and ".join(words), "gpasswd", "--members", ",".join(change.after)),)

    def _step(self, words: str, program: str, *options: str) -> Action:
        run = partial(commands.change, program, *options, "--", self.name)
        return Action.proven(words, run)
