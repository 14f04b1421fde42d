"""Checks, for a dry run, that the planned change of an account can be made. Nothing is changed.

The programs that change accounts look names up through the C library, so accounts of a directory service count here,
too.
"""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

from reactor import ResourceError, in_thread
from reactor.resources.accounts.commands import GROUP_IN_USE
from reactor.resources.accounts.database import GroupLine, PasswdLine, groups, has_entry, users
from reactor.resources.accounts.user_properties import UserProperties
from reactor.resources.accounts.user_state import UserState


async def refuse_user(user: UserProperties, state: UserState) -> None:
    """Raise the ResourceError with which the change of ``user`` from ``state`` would fail."""
    account = state.account
    if account is not None:
        _refuse_busy(user, account)
    if user.ensure == "absent":
        return
    if user.uid is not None and not user.non_unique and (account is None or account.uid != user.uid):
        taken = next((each.name for each in users() if each.uid == user.uid and each.name != user.name), None)
        _refuse_taken("uid", user.uid, taken)
    groups_named = (*(() if user.group is None else (user.group,)), *(user.groups or ()))
    problems = [await _missing_group(each) for each in groups_named]
    if user.manage_home and user.home is not None:
        problems.append(_problem_of_home(user.home, account))
    ResourceError.raise_all(problems)


def _refuse_busy(user: UserProperties, account: PasswdLine) -> None:
    """Raise ResourceError if a process of the user prevents the change, as userdel(8) and usermod(8) do."""
    is_other = user.uid not in (None, account.uid) or user.home not in (None, account.home)
    if user.ensure == "present" and not is_other:
        return
    if (pid := next(_processes_of(account.uid), None)) is not None:
        verb = "removed" if user.ensure == "absent" else "changed"
        hint = f"end its processes first: loginctl terminate-user {user.name}, or pkill -u {user.name}"
        raise ResourceError(f"the user {user.name} can't be {verb} while process {pid} belongs to it", hint)


def _processes_of(uid: int) -> Iterator[int]:
    """The processes with this uid, whether real, effective or saved, that have the root directory of the host."""
    root = os.stat("/")
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            uids = next((line.split()[1:4] for line in status if line.startswith("Uid:")), ())
            if str(uid) in uids and os.path.samestat(root, os.stat(f"/proc/{pid}/root")):
                yield int(pid)


def refuse_removal(group: GroupLine | None) -> None:
    """Raise ResourceError if ``group`` is the primary group of a user."""
    owner = next((each.name for each in users() if group is not None and each.gid == group.gid), None)
    if group is not None and owner is not None:
        words = f"can't remove the group {group.name}: it is the primary group of the user {owner}"
        raise ResourceError(words, GROUP_IN_USE)


async def refuse_group(name: str, gid: int | None, members: Iterable[str], state: GroupLine | None) -> None:
    """Raise the ResourceError with which the group ``name`` could not get this gid, or these members."""
    if gid is not None and (state is None or state.gid != gid):
        taken = next((each.name for each in groups() if each.gid == gid and each.name != name), None)
        _refuse_taken("gid", gid, taken)
    ResourceError.raise_all([await _missing_user(member) for member in members])


def _refuse_taken(what: str, number: int, owner: str | None) -> None:
    if owner is not None:
        hint = f"choose another number, or change that of {owner} first"
        raise ResourceError(f"the {what} {number} is taken: it is that of {owner}", hint)


async def _missing_group(which: str | int) -> ResourceError | None:
    lookup = partial(grp.getgrnam, which) if isinstance(which, str) else partial(grp.getgrgid, which)
    if await _is_there(lookup):
        return None
    hint = "declare the group, and add it to require"
    return ResourceError(f"there is no group {which}", hint, missing=f"group#{which}")


async def _missing_user(name: str) -> ResourceError | None:
    if await _is_there(partial(pwd.getpwnam, name)):
        return None
    hint = "declare the user, and add it to require"
    return ResourceError(f"there is no user {name}", hint, missing=f"user#{name}")


async def _is_there(lookup: Callable[[], object]) -> bool:
    return await in_thread(partial(has_entry, lookup), abandon_on_cancel=True)


def _problem_of_home(home: str, account: PasswdLine | None) -> ResourceError | None:
    """Why the home can't be created or moved; None if it can.

    useradd(8) creates missing parents; usermod(8), which moves a home, does not.
    """
    above = _above(home)
    nearest = next(path for path in above if os.path.lexists(path))
    moves = account is not None and account.home != home and os.path.isdir(account.home)
    if account is not None and not moves:
        return None
    if not os.path.isdir(nearest):
        words = f"can't make the home {home}: {nearest} is not a directory"
        return ResourceError(words, "name another home", missing=nearest)
    if moves and nearest != os.path.dirname(home):
        missing = os.path.dirname(home)
        hint = f"declare file#{missing} with ensure: directory"
        return ResourceError(
            f"can't move the home to {home}: {missing} does not exist", hint, missing=missing
        )
    return None


def _above(path: str) -> Iterable[str]:
    while path != "/":
        path = os.path.dirname(path)
        yield path
