"""The account of a user and its file of keys: finds them, and plans the owners and modes that sshd(8) requires."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from reactor import Action, ResourceError, in_thread
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    create_directory,
    names_of,
    open_directory,
    set_attributes,
)
from reactor.resources.accounts.database import find_user
from reactor.resources.shared_lines import Found

_DIRECTORY_MODE = 0o700
_OTHERS = 0o022


class Account(NamedTuple):
    """The parts of an account that matter for its keys."""

    uid: int
    gid: int
    home: str


class KeyState(NamedTuple):
    """The file of keys; None if there is none. ``directory`` has the attributes of `.ssh`, None if it is missing."""

    account: Account
    path: str
    file: Found | None
    directory: Attributes | None

    @property
    def is_usual(self) -> bool:
        """Whether the directory is `.ssh` in the home, which is created and corrected."""
        return os.path.dirname(self.path) == os.path.dirname(usual_path(self.account.home))


async def find_account(user: str, *, must_exist: bool) -> Account:
    """The account of ``user``, also of a directory service.

    Without ``must_exist``, a missing user has no home. With it, raises ResourceError.
    """
    found = find_user(user)
    if found is not None:
        return Account(found.uid, found.gid, _normal(found.home))
    try:
        entry = await in_thread(pwd.getpwnam, user, abandon_on_cancel=True)
    except KeyError:
        if not must_exist:
            return Account(0, 0, "/nonexistent")
        hint = f"declare user#{user}, or correct the name"
        raise ResourceError(f"there is no user {user}", hint, missing=f"user#{user}") from None
    return Account(entry.pw_uid, entry.pw_gid, _normal(entry.pw_dir))


def _normal(home: str) -> str:
    return os.path.normpath(f"/{home.lstrip('/')}")


def require_home(user: str, account: Account) -> None:
    """Raise ResourceError if the home of ``user`` does not exist."""
    if not os.path.isdir(account.home):
        hint = f"declare file#{account.home} with ensure: directory, or the user with manage_home: true"
        words = f"the home {account.home} of {user} does not exist"
        raise ResourceError(words, hint, missing=account.home)


def directory_steps(state: KeyState) -> Iterable[Action]:
    """The changes that `.ssh` needs. It belongs to the user. Other directories are left alone."""
    if not state.is_usual:
        return
    path = os.path.dirname(state.path)
    if state.directory is None:
        wanted = Attributes(state.account.uid, state.account.gid, _DIRECTORY_MODE)
        yield Action.proven(f"created {path}", partial(create_directory, path, wanted))
        return
    yield from attribute_steps(path, state.directory, state.account, path)


def usual_path(home: str) -> str:
    """The file of keys in the directory ``home``."""
    return os.path.join(home, ".ssh", "authorized_keys")


def attribute_steps(path: str, found: Attributes, account: Account, what: str) -> Iterable[Action]:
    """The changes after which only the user and root can write ``path``.

    Raises ResourceError if the owner is wrong. It is never changed: the user may have moved a file of another user
    there, which would then be theirs.
    """
    if found.uid not in (0, account.uid) or not _is_readable(found, account):
        owner, user = names_of(found.uid, 0)[0], names_of(account.uid, 0)[0]
        hint = f"see why, and then: chown {user} {path}, or remove it"
        raise ResourceError(f"sshd can't use {path} for {user}: it belongs to {owner}", hint)
    mode = found.mode & ~_OTHERS
    if mode != found.mode:
        words = f"changed mode of {what} from {found.mode:04o} to {mode:04o}"
        yield Action.proven(words, partial(set_attributes, path, found._replace(mode=mode)))


def _is_readable(found: Attributes, account: Account) -> bool:
    """Whether sshd, which reads as the user, may read a file of root, or enter a directory."""
    by_group = found.gid == account.gid and found.mode & 0o040
    return account.uid in (found.uid, 0) or bool(by_group or found.mode & 0o004)


def directory_at(path: str) -> Attributes | None:
    """The attributes of a directory; None if it does not exist. Raises ResourceError if it is something else."""
    with ErrorContext(f"inspect {path}"):
        try:
            handle = open_directory(path)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(handle)
        finally:
            os.close(handle)
    return Attributes(status.st_uid, status.st_gid, status.st_mode & 0o7777)
