"""Finds the known name that a misspelt one probably means, for "did you mean" hints."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_SIMILARITY = 0.6
_MOST_COMPARED = 1000
"""The most names to compare. Comparing takes about a microsecond for each character of each name."""


def closest(
    name: str, known: Iterable[object], similarity: float = _SIMILARITY, *, ignore_case: bool = False
) -> str | None:
    """Return the name in ``known`` that is most similar to ``name``; None if none has the ``similarity`` (0 to 1).

    With ``ignore_case``, a name that differs only in case is preferred. Names that are not strings are ignored.
    """
    names = [each for each in islice(known, _MOST_COMPARED) if isinstance(each, str)]
    if ignore_case:
        for each in names:
            if each.lower() == name.lower():
                return each
    near = get_close_matches(name, names, 1, similarity)
    return near[0] if near else None
