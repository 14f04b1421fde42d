"""The user that a command runs as, with all groups, looked up before the start."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass

import trio

from reactor import ResourceError, in_thread
from reactor.hostfs import accounts

_TIMEOUT = 5.0
"""Seconds within which the groups of a user must be looked up."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A user, for the kernel and for programs. ``groups`` are all groups of the user, including ``gid``."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that name the user; see login(1)."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}


def uid_of(identity: Identity | None) -> int:
    """The id of the user that a command of ``identity`` runs as: by default our own."""
    return os.geteuid() if identity is None else identity.uid


def has_our_rights(uid: int) -> bool:
    """Whether ``uid`` is root or our own user: what runs as that user must obey nobody else."""
    return uid in (0, os.geteuid())


async def identity_of(user: str | None, group: str | None = None) -> Identity | None:
    """The identity of ``user``, by default our own, with ``group`` in place of the primary group; None without both.

    Both are names, or ids in digits.

    Raises ResourceError when the user does not exist, the look-up is not answered, or we may not become that user.
    """
    if user is None and group is None:
        return None
    uid, gid = await accounts.look_up(str(os.geteuid()) if user is None else user, group or "root")
    with trio.move_on_after(_TIMEOUT):
        found = await in_thread(_complete, uid, gid if group is not None else None, abandon_on_cancel=True)
        ours = os.geteuid(), os.getegid()
        if ours[0] != 0 and (found.uid, found.gid) != ours:
            words = f"only root may run a command as {found.name}"
            raise ResourceError(words, "run reactor as root, or remove `user` and `group`")
        return found
    hint = "check the directory service, such as sssd, that /etc/nsswitch.conf names"
    raise ResourceError(f"the lookup of the groups of {user or uid} is not answered", hint)


def _complete(uid: int, gid: int | None) -> Identity:
    """The identity of ``uid``. Blocking. A user without an account has one group, and / as its home."""
    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        if gid is None:
            words = f"there is no account of the user {uid}, so its group is not known"
            raise ResourceError(words, "give `group`", missing=f"user#{uid}") from None
        return Identity(str(uid), uid, gid, (gid,), "/")
    primary = account.pw_gid if gid is None else gid
    return Identity(
        account.pw_name, uid, primary, tuple(os.getgrouplist(account.pw_name, primary)), account.pw_dir
    )
