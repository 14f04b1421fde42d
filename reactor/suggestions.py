"""Hints with known names: the one that a misspelt name probably means, or all of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
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
    names = tuple(each for each in islice(known, _MOST_COMPARED) if isinstance(each, str))
    if ignore_case:
        for each in names:
            if each.lower() == name.lower():
                return each
    return next(iter(_close_matches(name, names, 1, similarity)), None)


@lru_cache(maxsize=64)
def _close_matches(word: str, choices: tuple[str, ...], most: int, similarity: float) -> tuple[str, ...]:
    """Return the most similar choices. A mistake in data or defaults is in each resource that uses these."""
    from difflib import get_close_matches  # noqa: PLC0415 - few manifests have a mistake

    return tuple(get_close_matches(word, choices, most, similarity))


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
    known = tuple(choices)
    alike = _close_matches(word, known, 3, _ALIKE)
    shortened: tuple[str, ...] = ()
    if not _close_matches(word, known, 1, _MISTYPED):
        abbreviated = tuple(each for each in known if _abbreviates(word, each))
        shortened = _close_matches(word, abbreviated, 3, _SIMILARITY)
    return [*dict.fromkeys([*shortened, *alike])][:3]


def _abbreviates(word: str, choice: str) -> bool:
    """Whether ``choice`` has the letters of ``word`` in the same order: ``cmd`` is ``command`` rather than ``cwd``."""
    rest = iter(choice)
    return all(letter in rest for letter in word)


_LONG = 5
"""A hint with at least as many commas is a list, and is wrapped. A shorter one may be a command to copy."""


def folded_list(label: str, hint: str, width: int | None) -> str:
    """The hint after its label. A long list is wrapped at the ``width`` of a terminal, if there is one."""
    whole = label + hint
    if width is None or len(whole) <= width or hint.count(", ") < _LONG:
        return whole
    import textwrap  # noqa: PLC0415 - few hints are lists

    return textwrap.fill(
        whole, width, subsequent_indent=" " * len(label), break_long_words=False, break_on_hyphens=False
    )
