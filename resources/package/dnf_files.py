"""Reads what dnf keeps of packages in files, without starting it: in its configuration, its history and its locks."""

from __future__ import annotations

import os
import re
from contextlib import closing, suppress
from typing import Final

_PROTECTION: Final = re.compile(r"^protected_packages\s*=\s*(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_QUERY: Final = """
SELECT rpm.name, rpm.arch, trans_item.reason, max(trans_item.id)
FROM trans_item JOIN trans ON trans.id = trans_item.trans_id JOIN rpm ON rpm.item_id = trans_item.item_id
WHERE trans.state = 1 AND trans_item.action NOT IN (3, 5, 7, 8, 10)
GROUP BY rpm.name, rpm.arch
"""
"""The last reason of each package, from completed transactions. The actions are those that take a version away."""
_AUTOMATIC: Final = (1, 3, 4)
"""The reasons of what dnf removes when nothing needs it: dependency, left over, and weak dependency."""


def history_files(root: str) -> tuple[str, ...]:
    """The files of the history, of which the second may be missing."""
    history = f"{root}/var/lib/dnf/history.sqlite"
    return history, f"{history}-wal"


def automatic_packages(root: str) -> frozenset[tuple[str, str]]:
    """The names and architectures of packages that came as dependencies; none if the history can't be read."""
    import sqlite3  # noqa: PLC0415 - only hosts of dnf need it

    history, log = history_files(root)
    # Without a log nothing is being written. Opened as usual, SQLite would create one, which needs the right to do so.
    mode = "mode=ro" if os.path.exists(log) else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"file:{history}?{mode}", uri=True)) as connection:
            rows = connection.execute(_QUERY).fetchall()
    except sqlite3.Error:
        return frozenset()
    return frozenset((name, architecture) for name, architecture, reason, _ in rows if reason in _AUTOMATIC)


def is_locked(name: str, file: str) -> bool:
    """Whether the plugin `versionlock` has an entry for a package: ``name-epoch:version-release.arch``."""
    entry = re.compile(rf"^{re.escape(name)}-[0-9]+:[^-\s]+-\S+$", re.MULTILINE)
    with suppress(OSError), open(file, encoding="utf-8", errors="replace") as lines:
        return entry.search(lines.read()) is not None
    return False


def protected_packages(file: str) -> str:
    """The packages that the configuration protects; empty if it has no such setting."""
    with suppress(OSError), open(file, encoding="utf-8", errors="replace") as lines:
        found = _PROTECTION.search(lines.read())
        return "" if found is None else " ".join(found[1].replace(",", " ").split())
    return ""
