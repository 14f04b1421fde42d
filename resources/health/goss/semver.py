"""Versions as in https://semver.org, and the ranges of goss: ``>1.0.0 <2.0.0 !=1.5.0 || 3.x``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_COMPARATOR = re.compile(r"\s*(>=|<=|!=|==|>|<|=|!)?\s*([^\s<>=!|]+)")
_WILD = re.compile(r"(\d+)(?:\.(\d+))?(?:\.[xX*])?|[xX*]")

_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
    "!=": operator.ne, "!": operator.ne, "==": operator.eq, "=": operator.eq, "": operator.eq,
}  # fmt: skip

Version = tuple[tuple[int, int, int], tuple[int, ...], tuple[tuple[int, int, str], ...]]
"""A sort key in the order of semver: numbers; a pre-release before its release; its parts, numbers before words."""


def satisfies_all(versions: Sequence[Any], constraint: str) -> bool:
    """Whether there is a version and all of them satisfy ``constraint``; an invalid version satisfies nothing."""
    try:
        return bool(versions) and all(satisfies(str(version), constraint) for version in versions)
    except ValueError:
        return False


def satisfies(version: str, constraint: str) -> bool:
    """Whether ``version`` is in one of the ranges of ``constraint``. Raises ValueError when one of them is invalid."""
    ranges = [_comparators(each) for each in constraint.split("||")]
    parsed = _parse(version)
    return any(all(holds(parsed) for holds in each) for each in ranges)


def _parse(text: str) -> Version:
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a version: write it as 1.2.3")
    major, minor, patch, before = match.groups()
    numbers = int(major), int(minor), int(patch)
    if before is None:
        return numbers, (1,), ()
    parts = tuple((0, int(each), "") if each.isdigit() else (1, 0, each) for each in before.split("."))
    return numbers, (0,), parts


def _comparators(text: str) -> list[Callable[[Version], bool]]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _COMPARATOR.match(text, at)
        if match is None:
            raise ValueError(f"{text!r} is not a range of versions: write it as >=1.2.0 <2.0.0")
        found.append(_comparator(match[1] or "", match[2]))
        at = match.end()
    if not found:
        raise ValueError("a range of versions is empty: write it as >=1.2.0 <2.0.0")
    return found


def _comparator(sign: str, text: str) -> Callable[[Version], bool]:
    compare = _COMPARE[sign]
    if (wild := _WILD.fullmatch(text)) is None:
        bound = _parse(text)
        return lambda version: compare(version, bound)
    prefix = tuple(int(part) for part in wild.groups() if part is not None)
    return lambda version: compare(version[0][: len(prefix)], prefix)
