"""Glob patterns over the names of resources. Imports nothing of a run: `reactor status` starts with this alone."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

HOW_TO_WRITE = "write it as kind#name; * stands for anything: 'file#/etc/*'"
"""The hint for an invalid pattern."""


def covers(pattern: str, names: Iterable[str]) -> bool:
    """Whether ``pattern`` matches one of ``names``, the names of one resource.

    A name that contains ``[`` also matches itself.
    """
    return any(name == pattern or fnmatchcase(name, pattern) for name in names)


def is_glob(name: str) -> bool:
    """Whether ``name`` stands for several names. A ``[`` alone does not make it one: names may contain it."""
    return "*" in name
