"""The decision table of a user: from what was found to what is to be done. Pure, so that it can be tested as a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from reactor import Action, Plan, ResourceError
from reactor.hostfs import Change, attributes_diff
from reactor.resources.accounts import commands
from reactor.resources.accounts.database import PasswdLine, ShadowLine

if TYPE_CHECKING:
    from reactor.resources.accounts.user import User

Membership = Literal["minimum", "inclusive"]
"""Whether others may be there, too: `minimum` leaves them, `inclusive` takes them out."""


@dataclass(frozen=True, slots=True)
class UserState:
    """What was found. ``shadow`` is None where it was not asked for; ``numbers`` are those of all groups.

    ``lacks_group``: nobody knows a group of the number that is the primary one. ``losses``: what userdel(8) would remove with
    a user who is to go, in words.
    """

    account: PasswdLine | None = None
    shadow: ShadowLine | None = None
    groups: tuple[str, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    lacks_group: bool = False
    losses: tuple[str, ...] = ()
    foreign_home: str = ""
    """Why the home directory of the account is not the user's own, in words; empty where it is."""

    @property
    def left(self) -> str:
        """The end of a sentence about what stays where it is; empty where the home directory is the user's own."""
        return (
            f"; left {self.account.home}, which is {self.foreign_home}"
            if self.account and self.foreign_home
            else ""
        )


def plan_user(user: User, state: UserState) -> Plan:
    """What to do about ``state``. Raises ResourceError rather than removing who must stay."""
    if user.ensure == "absent":
        return () if state.account is None else (_remove(user, state),)
    if state.account is None:
        return (_create(user, state), *_set_password(user, state))
    return (
        *_bring_group(user, state, state.account),
        *_modify(user, state, state.account),
        *_see_to_groups(user, state),
        *_set_password(user, state),
    )


def _create(user: User, state: UserState) -> Action:
    changes = [Change(attribute, "", new) for attribute, new in _wanted(user).items()]
    options = _options(changes)
    if user.group is None and user.name in state.numbers:
        options += ["--gid", user.name]  # useradd would make that group, and fails when it is there
    if user.groups:
        options += ["--groups", ",".join(user.groups)]
        changes.append(Change("groups", "", ", ".join(user.groups)))
    options += ["--create-home" if user.manage_home else "--no-create-home"]
    options += ["--system"] if user.system else []
    return _step(user, "created the user", "useradd", options, changes)


def _bring_group(user: User, state: UserState, account: PasswdLine) -> Plan:
    """Make the group of the same name that useradd makes last, or take the one that groupmod gave another number.

    Both may have been cut off before they were done.
    """
    if user.group is not None or not state.lacks_group:
        return ()
    if user.name in state.numbers:
        words = f"changed group from {account.gid} to {user.name}"
        return (_step(user, words, "usermod", ["--gid", user.name]),)
    words = f"created the missing group {user.name}"
    run = partial(commands.change, "groupadd", "--gid", str(account.gid), "--", user.name)
    return (Action(f"Would have {words}", words, run, is_proof=True),)


def _modify(user: User, state: UserState, account: PasswdLine) -> Plan:
    found = _found(user, state, account)
    changes = [
        Change(attribute, found[attribute], new)
        for attribute, new in _wanted(user).items()
        if found[attribute] != new
    ]
    if not changes:
        return ()
    options = _options(changes)
    words = ", ".join(map(str, changes))
    if user.manage_home and "--home" in options:
        options += [] if state.foreign_home else ["--move-home"]
        words += state.left
    return (_step(user, words, "usermod", options, changes),)


def _see_to_groups(user: User, state: UserState) -> Plan:
    if user.groups is None:
        return ()
    if not (due := moves(state.groups, user.groups, user.membership)):
        return ()
    words = [f"added the user to {', '.join(due.come)}"] if due.come else []
    words += [f"took the user out of {', '.join(due.go)}"] if due.go else []
    changes = [Change("groups", ", ".join(state.groups), ", ".join(due.after))]
    # Appending leaves alone what others may be adding just now.
    options = ["--groups", ",".join(due.after)] if due.go else ["--append", "--groups", ",".join(due.come)]
    # Of groups that are not in the file, usermod may say that all went well, and change nothing.
    is_sure = {*due.come, *due.go}.issubset(state.numbers)
    return (_step(user, " and ".join(words), "usermod", options, changes, is_proof=is_sure),)


def _set_password(user: User, state: UserState) -> Plan:
    if user.password is None or (state.shadow is not None and state.shadow.password == user.password):
        return ()
    line = f"{user.name}:{user.password}\n".encode()
    words = "set the password"
    run = partial(commands.change, "chpasswd", "--encrypted", input=line)
    return (Action(f"Would have {words}", words, run, is_proof=True),)


def _remove(user: User, state: UserState) -> Action:
    if state.account is not None and state.account.uid in (0, os.geteuid()):
        who = "root" if state.account.uid == 0 else "whom reactor runs as"
        raise ResourceError(
            f"{user.name} is {who}; refusing to remove the user", "name the user that is to go"
        )
    words = " and ".join(("removed the user", *state.losses)) + state.left
    return _step(user, words, "userdel", ["--remove"] if user.manage_home and not state.foreign_home else [])


_OPTIONS = {
    "uid": "--uid",
    "group": "--gid",
    "home": "--home",
    "shell": "--shell",
    "comment": "--comment",
    "expires": "--expiredate",
}


def _wanted(user: User) -> dict[str, str]:
    """What is asked for, in the words of the files; groups by name where that is given."""
    values = {attribute: getattr(user, attribute) for attribute in _OPTIONS}
    return {attribute: str(value) for attribute, value in values.items() if value is not None}


def _found(user: User, state: UserState, account: PasswdLine) -> dict[str, str]:
    names = [name for name, gid in state.numbers.items() if gid == account.gid]
    if not isinstance(user.group, str) or not names:
        group = str(account.gid)
    else:  # several names may have one number
        group = user.group if user.group in names else names[0]
    return {
        "uid": str(account.uid),
        "group": group,
        "home": account.home,
        "shell": account.shell,
        "comment": account.comment,
        "expires": "never" if state.shadow is None else state.shadow.expires,
    }


def _options(changes: Iterable[Change]) -> list[str]:
    options = []
    for attribute, _, new in changes:
        options += [_OPTIONS[attribute], "" if (attribute, new) == ("expires", "never") else new]
    return options


def _step(
    user: User,
    words: str,
    program: str,
    options: Iterable[str] = (),
    changes: Iterable[Change] = (),
    *,
    is_proof: bool = True,
) -> Action:
    """Run the program: where ``is_proof``, it exits with 0 only after it has written the files."""
    shown = tuple(changes)
    return Action(
        would=f"Would have {words}",
        did=words,
        run=partial(commands.change, program, *options, "--", user.name),
        diff=partial(attributes_diff, user.ref, shown, created=program == "useradd") if shown else None,
        is_proof=is_proof,
        reads_back=not is_proof,
    )


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
