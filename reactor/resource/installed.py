"""What the packages of this Python offer under the name of an entry point group, ours and third parties' alike."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

KINDS_GROUP = "reactor.resources"


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """The entry points of ``group`` by name, in order of their names. Imports none of them."""
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}
