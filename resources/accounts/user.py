"""The kind `user`: one user of this host."""

from __future__ import annotations

import grp
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self

from reactor import (
    Claim,
    Exclusion,
    NamedProgram,
    PathState,
    PathWatch,
    Plan,
    Relations,
    Watch,
    fragile_mounts,
    in_thread,
)
from reactor.resources.accounts import undoing
from reactor.resources.accounts.commands import refuse_unwritable
from reactor.resources.accounts.database import (
    GROUP,
    PASSWD,
    SHADOW,
    GroupLine,
    PasswdLine,
    find_shadow,
    find_user,
    groups,
    has_entry,
    has_user_groups,
    users,
)
from reactor.resources.accounts.homes import is_left_alone, refuse_exposed
from reactor.resources.accounts.memberships import groups_of, members_of
from reactor.resources.accounts.numbers import USER_NUMBERS
from reactor.resources.accounts.passwords import IN_SHADOW
from reactor.resources.accounts.planner import plan_user
from reactor.resources.accounts.preflight import refuse_user
from reactor.resources.accounts.property_types import accounts_named
from reactor.resources.accounts.skeleton import lacks_home
from reactor.resources.accounts.user_properties import UserProperties
from reactor.resources.accounts.user_state import UserState


class User(UserProperties, kind="user"):
    """Manage one user of this host. Unset properties are not managed; a new user gets the defaults of useradd(8)."""

    example = "ada --shell /bin/bash --groups sudo"
    may_undo = frozenset(("group",))
    provides_only_its_own = True

    def watches(self) -> Iterable[Watch]:
        """The account files that `observe` reads."""
        yield from map(PathWatch, self._files)
        if (home := self._created_home(None)) is not None:
            yield PathWatch(home)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The user by name and number, the group of the same name unless another is the primary one, and the
        home directory if it is created with the user.

        Depends on: The account files, the groups, the shell, and the parent of the home directory.
        """
        user, dependencies = tuple(accounts_named("user", self.name, self.uid)), tuple(self._dependencies())
        home = () if self.home is None else (self.home,)
        if self.ensure == "absent":
            return Relations(removes=user, clears=home if self.manage_home else (), depends_on=dependencies)
        own_group = (f"group#{self.name}",) if self.group is None else ()
        return Relations(
            provides=(*user, *own_group, *(home if self._makes_home else ())),
            depends_on=dependencies,
            chooses=self.chosen_numbers,
            names=() if self.shell is None else (NamedProgram(f"the shell {self.shell}", (self.shell,)),),
        )

    def _dependencies(self) -> Iterator[str]:
        """The account files, the groups, the shell, and the parent of the home directory."""
        yield from self._files
        primary = self.name if self.group is None else self.group
        yield from (f"group#{group}" for group in (primary, *(self.groups or ())))
        if self.ensure == "present" and self.shell is not None:
            yield self.shell
        if self.home is not None and self._makes_home:
            yield os.path.dirname(self.home)

    def sandbox_access(self) -> Iterable[str]:
        """The account files, and the homes and mailboxes that useradd(8) creates and userdel(8) removes."""
        return (*self._files, "/home", "/var/mail", *(() if self.home is None else (self.home,)))

    def claims(self) -> Iterable[Claim]:
        """The name, the uid, the home if it is made, the groups, and of the further ones the user as their member."""
        yield Claim("user", self.name, {"ensure": self.ensure, "uid": self.uid})
        if self.ensure == "absent":
            return
        if self.home is not None and self._makes_home:
            yield Claim("path", self.home, {"ensure": "directory"})
        if self.uid is not None and not self.non_unique:
            yield Claim(USER_NUMBERS, str(self.uid), {"name": self.name})
        primary = self.name if self.group is None else self.group
        if isinstance(primary, str):
            yield Claim("group", primary, {"ensure": "present"})
        for group in self.groups or ():
            yield Claim("group", group, {"ensure": "present"})
            yield Claim(members_of(group), self.name, {"groups": True})

    def excludes(self) -> Iterable[Exclusion]:
        """All other groups, with ``membership: inclusive``."""
        if self.ensure == "present" and self.groups is not None and self.membership == "inclusive":
            yield Exclusion(groups_of(self.name), self.groups, "groups")

    def lasting_state(self) -> Sequence[PathState] | None:
        """The account files, and the home if it is managed."""
        from reactor.resources.accounts.lasting import lasting_state_of  # noqa: PLC0415 - once, at the end of a run

        return lasting_state_of(self, self._files)

    async def describe(self) -> Mapping[str, Any]:
        """The line in passwd(5) and the groups; never the hash of the password."""
        state = await self.observe()
        if state.account is None:
            return {"ensure": "absent"}
        return {"ensure": "present", **state.account._asdict(), "groups": [*state.groups]}

    async def observe(self) -> UserState:
        """The user and all groups.

        Raises ResourceError when a file can't be read, and when other users could redirect the path of the home
        directory.
        """
        all_groups = [*groups()]
        secret = find_shadow(self.name) if SHADOW in self._files else None
        account = find_user(self.name)
        if self._makes_home and self.home is not None and (account is None or account.home != self.home):
            await fragile_mounts().ask(self.home)
            refuse_exposed(self.home)
        foreign_home = await _foreign_home(account) if account is not None and self.manage_home else ""
        numbers = {group.name: group.gid for group in all_groups}
        return UserState(
            account=account,
            shadow=secret,
            groups=tuple(group.name for group in all_groups if self.name in group.members),
            numbers=numbers,
            losses=()
            if account is None or self.ensure == "present"
            else self._losses(account, all_groups, takes_home=self.manage_home and not foreign_home),
            foreign_home=foreign_home,
            lacks_home=account is not None
            and (home := self._created_home(account)) is not None
            and await lacks_home(home),
            gets_group=account is None and has_user_groups(),
            lacks_group=account is not None
            and account.gid not in numbers.values()
            and not await in_thread(
                partial(has_entry, partial(grp.getgrgid, account.gid)), abandon_on_cancel=True
            ),
        )

    def _losses(
        self, account: PasswdLine, all_groups: Iterable[GroupLine], *, takes_home: bool
    ) -> tuple[str, ...]:
        """The things that userdel(8) removes with the user: home directory and mailbox if requested, and own group.

        The own group is the group of the same name, if login.defs(5) enables such groups and no other user is in it.
        """
        own = [group for group in all_groups if (group.name, group.gid) == (self.name, account.gid)]
        is_shared = any(set(group.members) - {self.name} for group in own)
        is_shared |= any(user.gid == account.gid and user.name != self.name for user in users())
        losses = [account.home] if takes_home else []
        if takes_home and os.path.exists(f"/var/mail/{self.name}"):
            losses.append(f"/var/mail/{self.name}")
        if own and not is_shared and has_user_groups():
            losses.append(f"the group {self.name}")
        return tuple(losses)

    def plan(self, state: UserState, *, refresh: bool) -> Plan:  # noqa: ARG002  a user has nothing to refresh
        """The plan by the decision table, `plan_user`. Raises ResourceError."""
        return plan_user(self, state)

    async def preflight(self, state: UserState) -> None:
        """Check that the files can be written, the uid is free, the groups exist, and the home can be created or moved."""
        refuse_unwritable(plan_user(self, state))
        await refuse_user(self, state)

    async def reversal(self, state: UserState) -> Self:
        """The user as it was, or no user. The content of a removed home directory is not restored."""
        return undoing.reversal_of(self, state)

    def is_undone_by(self, recorded: Self) -> bool:
        """Whether the reversal has all that this changes, or removes the user."""
        return undoing.has_all_of(recorded, self)

    @property
    def _files(self) -> tuple[str, ...]:
        gone_for_a_while = self.ensure == "absent" and self.meta.reverse
        if gone_for_a_while or any(getattr(self, name) is not None for name in IN_SHADOW):
            return (PASSWD, GROUP, SHADOW)
        return (PASSWD, GROUP)

    @property
    def _makes_home(self) -> bool:
        return (self.manage_home or self.create_home) and self.ensure == "present"

    def _created_home(self, account: PasswdLine | None) -> str | None:
        """The home directory that must exist; None if it is not known, or need not."""
        if not self.create_home or self.ensure == "absent":
            return None
        return self.home or (None if account is None else account.home)


async def _foreign_home(account: PasswdLine) -> str:
    """Why the home directory does not belong to ``account`` alone, for messages; empty if it does, or is missing."""
    if others := sorted(
        user.name for user in users() if user.home == account.home and user.name != account.name
    ):
        return f"also the home of {', '.join(others)}"
    await fragile_mounts().ask(account.home)
    try:
        owner = os.lstat(account.home).st_uid
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if owner == account.uid:
        return "below a directory that others may change" if is_left_alone(account.home) else ""
    return f"owned by {next((user.name for user in users() if user.uid == owner), owner)}"
