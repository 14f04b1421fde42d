"""Whether a group, or an access control list, lets anybody write who is not trusted."""

from __future__ import annotations

import errno
import grp
import os
import pwd
from collections.abc import Collection

_SYSTEM_GROUPS = 100
"""The groups below are the distribution's own, as ``staff``: what the host lists as their members are all there are."""
_ACCESS_LIST = "system.posix_acl_access"


def is_private(gid: int, users: Collection[int], groups: Collection[int] = ()) -> bool:
    """Whether nobody but ``users`` is in the group, as far as that is known for sure; or it is one of ``groups``.

    Group 0 is root's. The group of the same name as a user is that user's own, as useradd(8) makes it.
    """
    return gid == 0 or gid in groups or _has_only(gid, users)


def has_access_list(path: str) -> bool:
    """Whether the file at ``path`` has an access control list, whose rights the bits of the group stand for then.

    The answer is yes where nobody can tell.
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
