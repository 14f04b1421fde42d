"""The paths and accounts through which a resource is related to others: the program makes edges of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple


class Relations(NamedTuple):
    """Absolute paths, and accounts such as ``user#ada`` and ``group#33``, by what the resource does with them.

    - ``provides``: it exists because of this resource. Whatever depends on it goes after this.
    - ``removes``: it is gone because of this resource. Whatever depends on it goes before this.
    - ``clears``: whatever is there now, or below it, is taken away: by unmounting a file system, by removing a home. What
      depends on something there goes before this; what must be there comes after it. A path that ends in ``/`` means what
      is below the directory only.
    - ``depends_on``: this resource relies on it: the nearest resource at or above the path goes first. A path that ends in
      ``/`` means all that is in a directory: whatever is provided below it goes first too.
    - ``purges``: a directory in which this resource removes everything that no resource manages.
      ``declared.managed_paths`` then has the paths below it that others provide.
    """

    provides: Collection[str] = ()
    removes: Collection[str] = ()
    clears: Collection[str] = ()
    depends_on: Collection[str] = ()
    purges: str | None = None


NO_RELATIONS = Relations()
