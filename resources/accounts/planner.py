"""The decision table of a user: a pure function from the state to the plan."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial

from reactor import Action, Plan, ResourceError
from reactor.hostfs import Change, attributes_diff
from reactor.resources.accounts import commands
from reactor.resources.accounts.database import PasswdLine
from reactor.resources.accounts.memberships import membership_change
from reactor.resources.accounts.numbers import GROUP_NUMBERS, Choice
from reactor.resources.accounts.passwords import age_options, lock_option, wanted_password
from reactor.resources.accounts.skeleton import create_home
from reactor.resources.accounts.user_properties import UserProperties
from reactor.resources.accounts.user_state import UserState


def plan_user(user: UserProperties, state: UserState) -> Plan:
    """The plan for ``state``. Raises ResourceError instead of removing root, or the user that reactor runs as."""
    if user.ensure == "absent":
        return () if state.account is None else (_remove(user, state),)
    if state.account is None:
        return (*_create(user, state), *_set_password(user, state), *_set_ages(user, state))
    return (
        *_repair_primary_group(user, state, state.account),
        *_modify(user, state, state.account),
        *_make_home(user, state, state.account),
        *_change_groups(user, state),
        *_set_password(user, state),
        *_set_ages(user, state),
    )


def _create(user: UserProperties, state: UserState) -> Plan:
    own_group = tuple(_own_group(user, state))
    changes = [Change(attribute, "", new) for attribute, new in _wanted(user).items()]
    options = _options(changes) + (["--non-unique"] if user.non_unique else [])
    if user.group is None and (own_group or user.name in state.numbers):
        options += ["--gid", user.name]  # useradd creates that group, and fails when it exists
    if user.groups:
        options += ["--groups", ",".join(user.groups)]
        changes.append(Change("groups", "", ", ".join(user.groups)))
    options += ["--create-home" if user.manage_home or user.create_home else "--no-create-home"]
    options += ["--system"] if user.system else []
    create = partial(commands.change, "useradd")
    if user.uid is None:
        choice = Choice(user.chosen_numbers, user.declared.reserved, user.system)
        create = partial(commands.create, "useradd", "--uid", choice)
    diff = partial(attributes_diff, user.ref, tuple(changes), created=True) if changes else None
    return (*own_group, Action.proven("created the user", partial(create, *options, "--", user.name), diff))


def _own_group(user: UserProperties, state: UserState) -> Iterator[Action]:
    """Create the own group first where useradd would give it the ``uid``, which another group of the manifest has as gid."""
    is_made_by_useradd = state.gets_group and user.group is None and user.name not in state.numbers
    if is_made_by_useradd and str(user.uid) in user.declared.reserved:
        choice = Choice((GROUP_NUMBERS,), user.declared.reserved, user.system)
        options = ["--system"] if user.system else []
        run = partial(commands.create, "groupadd", "--gid", choice, *options, "--", user.name)
        yield Action.proven(f"created the group {user.name}", run)


def _repair_primary_group(user: UserProperties, state: UserState, account: PasswdLine) -> Plan:
    """Create the missing group of the same name, or use the existing one, whose gid groupmod has changed.

    An interrupted useradd or groupmod leaves a user without a primary group.
    """
    if user.group is not None or not state.lacks_group:
        return ()
    if user.name in state.numbers:
        words = f"changed group from {account.gid} to {user.name}"
        return (_step(user, words, "usermod", ["--gid", user.name]),)
    words = f"created the missing group {user.name}"
    run = partial(commands.change, "groupadd", "--gid", str(account.gid), "--", user.name)
    return (Action.proven(words, run),)


def _modify(user: UserProperties, state: UserState, account: PasswdLine) -> Plan:
    found = _found(user, state, account)
    changes = [
        Change(attribute, found[attribute], new)
        for attribute, new in _wanted(user).items()
        if found[attribute] != new
    ]
    if not changes:
        return ()
    options = _options(changes)
    options += ["--non-unique"] if user.non_unique and "--uid" in options else []
    words = ", ".join(map(str, changes))
    if user.manage_home and "--home" in options:
        options += [] if state.foreign_home else ["--move-home"]
        words += state.left
    return (_step(user, words, "usermod", options, changes),)


def _make_home(user: UserProperties, state: UserState, account: PasswdLine) -> Plan:
    home = user.home or account.home
    is_moved = (
        user.manage_home and home != account.home and os.path.isdir(account.home) and not state.foreign_home
    )
    if not state.lacks_home or is_moved:
        return ()
    words = f"created the home {home}"
    return (Action.proven(words, partial(create_home, home, user.name)),)


def _change_groups(user: UserProperties, state: UserState) -> Plan:
    if user.groups is None:
        return ()
    if not (change := membership_change(state.groups, user.groups, user.membership)):
        return ()
    words = [f"added the user to {', '.join(change.added)}"] if change.added else []
    words += [f"removed the user from {', '.join(change.removed)}"] if change.removed else []
    changes = [Change("groups", ", ".join(state.groups), ", ".join(change.after))]
    # Appending does not undo what another program adds at the same time.
    options = (
        ["--groups", ",".join(change.after)]
        if change.removed
        else ["--append", "--groups", ",".join(change.added)]
    )
    # For groups that are not in the file, usermod may succeed and change nothing.
    is_sure = {*change.added, *change.removed}.issubset(state.numbers)
    return (_step(user, " and ".join(words), "usermod", options, changes, is_proof=is_sure),)


def _set_password(user: UserProperties, state: UserState) -> Plan:
    wanted = wanted_password(user.password, user.locked)
    if wanted is None:
        option = lock_option(state.shadow, user.locked)
        if option is None:
            return ()
        found = "" if state.shadow is None else state.shadow.password
        times = len(found) - len(found.lstrip("!")) if option == "--unlock" else 1
        return tuple(
            _step(user, f"{option.removeprefix('--')}ed the password", "usermod", [option])
            for _ in range(times)
        )
    if state.shadow is not None and state.shadow.password == wanted:
        return ()
    line = f"{user.name}:{wanted}\n".encode()
    words = "set the password"
    run = partial(commands.change, "chpasswd", "--encrypted", input=line)
    return (Action.proven(words, run),)


def _set_ages(user: UserProperties, state: UserState) -> Plan:
    wanted = {
        "max_age": user.password_max_age,
        "min_age": user.password_min_age,
        "warn_days": user.password_warn_days,
    }
    found = [*age_options(state.shadow, wanted)]
    if not found:
        return ()
    changes = [Change(name, old, new) for name, old, new, _ in found]
    words = ", ".join(f"set {each.attribute} to {each.new}" for each in changes)
    options = [word for _, _, new, option in found for word in (option, new)]
    return (_step(user, words, "chage", options, changes),)


def _remove(user: UserProperties, state: UserState) -> Action:
    if state.account is not None and state.account.uid in (0, os.geteuid()):
        owner = "root" if state.account.uid == 0 else "the user that runs reactor"
        raise ResourceError(f"{user.name} is {owner}; refusing to remove the user", "name the user to remove")
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


def _wanted(user: UserProperties) -> dict[str, str]:
    """The desired values as they are in the files; the group by name if the manifest names one."""
    values = {attribute: getattr(user, attribute) for attribute in _OPTIONS}
    return {attribute: str(value) for attribute, value in values.items() if value is not None}


def _found(user: UserProperties, state: UserState, account: PasswdLine) -> dict[str, str]:
    names = [name for name, gid in state.numbers.items() if gid == account.gid]
    if not isinstance(user.group, str) or not names:
        group = str(account.gid)
    else:  # several groups may have one gid
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
    user: UserProperties,
    words: str,
    program: str,
    options: Iterable[str] = (),
    changes: Iterable[Change] = (),
    *,
    is_proof: bool = True,
) -> Action:
    """An action that runs the program. With ``is_proof``, exit code 0 proves that the files were changed."""
    shown = tuple(changes)
    return Action(
        would=f"Would have {words}",
        did=words,
        run=partial(commands.change, program, *options, "--", user.name),
        diff=partial(attributes_diff, user.ref, shown) if shown else None,
        is_proof=is_proof,
        reads_back=not is_proof,
    )
