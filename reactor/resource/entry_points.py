"""Entry points of the installed packages, ours and third parties' alike, and the installed version of reactor."""

from __future__ import annotations

from functools import cache

from reactor.distributions import EntryPoint, entry_points, installed_version_of

DISTRIBUTION = "reactor-converge"
"""Our name on package indexes and for pip, where ``reactor`` is another project."""
KINDS_GROUP = "reactor.resources"


@cache
def installed_entry_points(group: str) -> dict[str, EntryPoint]:
    """The entry points of ``group`` by name, sorted by name. Imports none of them."""
    found = entry_points(group=group)
    return {entry.name: entry for entry in sorted(found, key=lambda entry: entry.name)}


def installed_version() -> str:
    """The version of reactor that is installed."""
    return installed_version_of(DISTRIBUTION)
