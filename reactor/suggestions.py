"""Finds the known name that a misspelt one probably means, for "did you mean" hints."""

from __future__ import annotations

from collections.abc import Iterable
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
    from difflib import get_close_matches  # noqa: PLC0415 - few manifests have a mistake

    names = [each for each in islice(known, _MOST_COMPARED) if isinstance(each, str)]
    if ignore_case:
        for each in names:
            if each.lower() == name.lower():
                return each
    near = get_close_matches(name, names, 1, similarity)
    return near[0] if near else None


_ALIKE = 0.61
"""Two words of five letters need four in common: ``state`` is not similar to ``after``."""

_MISTYPED = 0.75
"""Two letters of a word of four are exchanged: ``fiel`` is a misspelt ``file`` rather than short for ``firewall``."""


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """The hint for a misspelt word, or None when no choice is similar."""
    close = nearest(word, choices)
    return f"did you mean {close[0]!r}?" if close else None


def nearest(word: str, choices: Iterable[str]) -> list[str]:
    """Up to three choices that are similar to a misspelt word, the most similar first."""
    from difflib import get_close_matches  # noqa: PLC0415 - few manifests have a mistake

    choices = list(choices)
    alike = get_close_matches(word, choices, n=3, cutoff=_ALIKE)
    shortened = []
    if not get_close_matches(word, choices, n=1, cutoff=_MISTYPED):
        shortened = get_close_matches(word, [each for each in choices if _abbreviates(word, each)], n=3)
    return [*dict.fromkeys([*shortened, *alike])][:3]


def _abbreviates(word: str, choice: str) -> bool:
    """Whether ``choice`` has the letters of ``word`` in the same order: ``cmd`` is ``command`` rather than ``cwd``."""
    rest = iter(choice)
    return all(letter in rest for letter in word)
