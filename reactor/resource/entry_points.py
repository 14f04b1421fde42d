"""Entry points of the installed packages, ours and third parties' alike, and the installed version of reactor."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

DISTRIBUTION = "reactor-converge"
"""Our name on package indexes and for pip, where ``reactor`` is another project."""
KINDS_GROUP = "reactor.resources"


@cache
def installed_entry_points(group: str) -> dict[str, EntryPoint]:
    """The entry points of ``group`` by name, sorted by name. Imports none of them."""
    found = _everything().select(group=group)
    return {entry.name: entry for entry in sorted(found, key=lambda entry: entry.name)}


def installed_version() -> str:
    """The version of reactor that is installed."""
    from importlib.metadata import version  # noqa: PLC0415 - slow to import

    return version(DISTRIBUTION)


@cache
def _everything() -> Any:
    """Return all entry points, cached: each query of the packages opens a file of every one."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and help needs none

    return entry_points()
