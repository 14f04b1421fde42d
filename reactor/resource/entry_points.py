"""Entry points of the installed packages, ours and third parties' alike, and the installed version of reactor."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from reactor.distributions import EntryPoint, all_entry_points, installed_version_of

if TYPE_CHECKING:
    from collections.abc import Mapping

DISTRIBUTION = "reactor-converge"
"""Our name on package indexes and for pip, where ``reactor`` is another project."""
KINDS_GROUP = "reactor.resources"


@cache
def installed_entry_points(group: str) -> dict[str, EntryPoint]:
    """The entry points of ``group`` by name, sorted by name. Imports none of them."""
    found = _everything().get(group, [])
    return {entry.name: entry for entry in sorted(found, key=lambda entry: entry.name)}


def installed_version() -> str:
    """The version of reactor that is installed."""
    return installed_version_of(DISTRIBUTION)


@cache
def _everything() -> Mapping[str, list[EntryPoint]]:
    """All entry points, cached: each query of the packages opens a file of every one."""
    return all_entry_points()
