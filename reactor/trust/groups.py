"""Checks whether a group or an access control list lets untrusted users write."""

from __future__ import annotations

import errno
import grp
import os
import pwd
from collections.abc import Collection

_SYSTEM_GROUPS = 100
"""Groups below this number belong to the distribution, such as ``staff``: their members are all listed on the host."""
_ACCESS_LIST = "system.posix_acl_access"


def is_private(gid: int, users: Collection[int], groups: Collection[int] = ()) -> bool:
    """Whether the group is one of ``groups``, or certainly has no members but ``users``.

    Group 0 belongs to root. A group with the name of a user belongs to that user, as useradd(8) creates it.
    """
    return gid == 0 or gid in groups or _has_only(gid, users)


def has_access_list(path: str) -> bool:
    """Whether the file at ``path`` has an access control list; True if that is unknown.

    With a list, the group bits of the mode are the mask of the list.
    """
    try:
        os.getxattr(path, _ACCESS_LIST, follow_symlinks=False)
    except OSError as error:
        return error.errno not in {errno.ENODATA, errno.EOPNOTSUPP}
    return True


def _has_only(gid: int, users: Collection[int]) -> bool:
    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    names = {name for name in map(_name, users) if name is not None}
    members = {each.pw_uid for each in pwd.getpwall() if each.pw_gid == gid}
    is_listed_whole = group.gr_name in names or gid < _SYSTEM_GROUPS
    return is_listed_whole and names.issuperset(group.gr_mem) and members.issubset(users)


def _name(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None
