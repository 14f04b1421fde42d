"""Finds home directories that reactor must not touch, because other users could redirect their paths.

useradd(8), usermod(8) and userdel(8) create, move and remove home directories by path, as root, and follow any symlink
on the way. So a home below a directory whose entries other users can replace is neither created nor moved, and is not
removed with its user.
"""

from __future__ import annotations

import os

from reactor import ResourceError
from reactor.hostfs import ErrorContext, open_directory, others_may_replace


def refuse_exposed(home: str) -> None:
    """Raise ResourceError when users other than root can redirect the path ``home``, which need not exist."""
    if is_exposed(home):
        words = f"users other than root can redirect {home}: useradd and usermod follow symlinks on the way to a home"
        raise ResourceError(
            words, "name a home below directories that only root can change, or write manage_home: false"
        )


def is_exposed(home: str) -> bool:
    """Whether users other than root can redirect the path ``home``.

    Raises ResourceError for a symlink of theirs on the way, and when that can't be found out.
    """
    parent, base = os.path.split(home)
    while not os.path.lexists(parent):
        parent, base = os.path.split(parent)
    if not os.path.isdir(parent):
        return False  # nothing can be created there
    with ErrorContext(f"inspect {parent}"):
        handle = open_directory(parent)
        try:
            return others_may_replace(handle, base)
        finally:
            os.close(handle)


def is_left_alone(home: str) -> bool:
    """Whether users other than root can redirect the path of an account's home, or have done so already."""
    try:
        return is_exposed(home)
    except ResourceError:
        return True
