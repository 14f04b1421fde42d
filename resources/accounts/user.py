"""The kind `user`: its properties, and the rules for their combinations."""

from __future__ import annotations

import grp
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field

from reactor import (
    AbsolutePath,
    Claim,
    Exclusion,
    Flag,
    NamedProgram,
    PathState,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    Watch,
    fragile_mounts,
    in_thread,
    register_secret,
)
from reactor.resources.accounts import undoing
from reactor.resources.accounts.database import (
    GROUP,
    PASSWD,
    SHADOW,
    GroupLine,
    PasswdLine,
    find_shadow,
    find_user,
    groups,
    has_user_groups,
    is_date,
    users,
)
from reactor.resources.accounts.homes import is_left_alone, refuse_exposed
from reactor.resources.accounts.passwords import IN_SHADOW, has_hash
from reactor.resources.accounts.planner import Membership, UserState, groups_of, members_of, plan_user
from reactor.resources.accounts.preflight import refuse_user
from reactor.resources.accounts.property_types import (
    AccountId,
    AccountName,
    AccountNames,
    accounts_named,
)
from reactor.resources.accounts.skeleton import lacks_home

# crypt(5): a method, optional parameters, salt and hash; a leading ! locks the password, and ! or * alone is none.
_HASH = re.compile(r"!{0,2}(\$[a-z0-9-]+\$[./A-Za-z0-9$=,+_-]+)|[!*]{1,2}")


def _check_password(text: str) -> str:
    register_secret(text)  # before anything can fail: errors quote the manifest
    if not _HASH.fullmatch(text):
        raise ValueError(
            "this is no hash of a password: make one with openssl passwd -6, or write '*' for none"
        )
    return text


def _check_comment(text: str) -> str:
    if ":" in text or not text.isprintable():
        raise ValueError("a comment is one line of text without colons")
    return text


def _check_no_colon(path: str) -> str:
    if ":" in path or not path.isprintable():
        raise ValueError("colons and control characters can't be in the path of an account")
    return path


def _check_expiry(text: str) -> str:
    if text != "never" and not is_date(text):
        raise ValueError(f"{text!r} is no date: write it as 2030-12-31, or never")
    return text


Days = Annotated[int, Field(ge=-1, le=99999)]
"""A number of days, or -1."""

AccountPath = Annotated[AbsolutePath, AfterValidator(_check_no_colon)]
"""A path that can be written in a line of passwd(5)."""


class User(Resource[UserState], kind="user"):
    """Manage one user of this host. Unset properties are not managed; a new user gets the defaults of useradd(8)."""

    example = "ada --shell /bin/bash --groups sudo"
    may_undo = frozenset(("group",))
    provides_only_its_own = True
    model_config = ConfigDict(hide_input_in_errors=True)

    name: AccountName
    ensure: Literal["present", "absent"] = "present"
    uid: AccountId | None = None
    """The number of the user."""
    group: AccountName | AccountId | None = None
    """The primary group, by name or number; unset, a new user gets a group of the same name."""
    groups: AccountNames | None = None
    """The supplementary groups of the user."""
    membership: Membership = "minimum"
    """Whether the user may be in other groups, too: `minimum` keeps these, `inclusive` removes the user from them."""
    home: AccountPath | None = None
    """The home directory."""
    manage_home: Flag = False
    """Whether the home directory is created with the user, moved when `home` changes, and removed with the user."""
    create_home: Flag = False
    """Whether a missing home directory is created, with the files of `/etc/skel`, also for a user who exists."""
    shell: AccountPath | None = None
    """The login shell."""
    comment: Annotated[str, AfterValidator(_check_comment)] | None = None
    """The name of the person, or the purpose of the account."""
    system: Flag = False
    """Whether a new user gets a number from the range for system users."""
    password: Annotated[str, AfterValidator(_check_password)] | None = Field(default=None, repr=False)
    """The hash of the password, as in shadow(5). Never shown, and no other process can see it."""
    expires: Annotated[str, AfterValidator(_check_expiry)] | None = None
    """The day from which the account can no longer be used, such as `2030-12-31`; or `never`."""

    locked: Flag | None = None
    """Whether the password is locked, so that none is right. Its hash is kept, for the day on which it is unlocked."""
    password_max_age: Days | None = None
    """The days after which the password must be changed; -1 for never."""
    password_min_age: Days | None = None
    """The days for which a new password can't be changed; -1 for none."""
    password_warn_days: Days | None = None
    """The days before that in which the user is warned; -1 for none."""
    non_unique: Flag = False
    """Whether another user may have the same ``uid``."""

    def secret_properties(self) -> Collection[str]:
        """The password, if one is given."""
        return () if self.password is None else ("password",)

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "absent" and (self.name == "root" or self.uid == 0):
            yield PropertyProblem(("ensure",), "the user root can't be absent", "name the user that is to go")
        if self.non_unique and self.uid is None:
            yield PropertyProblem(
                ("non_unique",), "non_unique is about the uid", "add uid, or remove non_unique"
            )
        if self.locked is False and self.password is not None and not has_hash(self.password):
            words = "without a password, there is nothing to unlock"
            yield PropertyProblem(("locked",), words, "write the hash as password, or remove locked")
        if self.groups is not None and self.group in self.groups:
            message = f"{self.group} is the primary group already"
            yield PropertyProblem(("groups",), message, "leave it out of groups")

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
        """The name, the uid, that the groups exist, and of the further ones that they have the user as a member."""
        yield Claim("user", self.name, {"ensure": self.ensure, "uid": self.uid})
        if self.ensure == "absent":
            return
        if self.uid is not None and not self.non_unique:
            yield Claim("user number", str(self.uid), {"name": self.name})
        if isinstance(self.group, str):
            yield Claim("group", self.group, {"ensure": "present"})
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
            lacks_group=account is not None
            and account.gid not in numbers.values()
            and not await in_thread(partial(_is_known, account.gid), abandon_on_cancel=True),
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
        """Check that the uid is free, the groups exist, and the home directory can be created or moved."""
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


def _is_known(gid: int) -> bool:
    """Whether the group exists. Blocking: a directory service may answer late."""
    try:
        grp.getgrgid(gid)
    except KeyError:
        return False
    return True
