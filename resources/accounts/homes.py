"""Home directories, which useradd(8), usermod(8) and userdel(8) make, move and remove by their paths, as root.

They follow whatever symlink is on the way. So a home below a directory in which others may replace what is there is
neither made nor moved, and is left where it is when its user goes.
"""

from __future__ import annotations

import os

from reactor import ResourceError
from reactor.hostfs import ErrorContext, open_directory, others_may_replace


def refuse_exposed(home: str) -> None:
    """Raise ResourceError when others than root may change the way to ``home``, which need not be there."""
    if is_exposed(home):
        words = f"others than root may change the way to {home}: a home is made and moved by its path"
        raise ResourceError(words, "name a home below directories of root, or let manage_home be false")


def is_exposed(home: str) -> bool:
    """Whether others than root may change where ``home`` leads.

    Raises ResourceError for a symlink of theirs on the way, and where that can't be found out.
    """
    parent, base = os.path.split(home)
    while not os.path.lexists(parent):
        parent, base = os.path.split(parent)
    if not os.path.isdir(parent):
        return False  # nothing can be made there
    with ErrorContext(f"look at {parent}"):
        handle = open_directory(parent)
        try:
            return others_may_replace(handle, base)
        finally:
            os.close(handle)


def is_left_alone(home: str) -> bool:
    """Whether others than root may change where the home of an account leads, or do so already."""
    try:
        return is_exposed(home)
    except ResourceError:
        return True
