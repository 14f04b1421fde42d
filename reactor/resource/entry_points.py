"""What the packages of this Python offer under the name of an entry point group, ours and third parties' alike.

And which version of ours is installed.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points, version

DISTRIBUTION = "reactor-converge"
"""What package indexes and pip call us: there, ``reactor`` belongs to others."""
KINDS_GROUP = "reactor.resources"


@cache
def installed_entry_points(group: str) -> dict[str, EntryPoint]:
    """The entry points of ``group`` by name, in order of their names. Imports none of them."""
    found = _everything().select(group=group)
    return {entry.name: entry for entry in sorted(found, key=lambda entry: entry.name)}


def installed_version() -> str:
    """The version of reactor that is installed."""
    return version(DISTRIBUTION)


_everything = cache(entry_points)
"""All entry points: each question asked of the packages opens a file of every one."""
