"""What people mean by a pattern: a glob over ``kind#name`` and ``kind#alias``, where ``*`` also matches ``/``.

Imports nothing of the project, because ``reactor status`` needs it before anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

HOW_TO_WRITE = "write it as kind#name; * stands for anything: 'file#/etc/*'"
"""The hint where a pattern means nothing."""


def covers(pattern: str, names: Iterable[str]) -> bool:
    """Whether the resource with these names is meant. A name that happens to hold ``[`` matches itself too."""
    return any(name == pattern or fnmatchcase(name, pattern) for name in names)
