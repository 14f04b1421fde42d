"""Versions of https://semver.org, and the constraints of sprig: ``^1.2``, ``~1.2.3``, ``>=1.2, <2 || 3.x``.

A constraint without a pre-release, such as ``>=1.2``, matches no pre-release: https://github.com/Masterminds/semver.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from reactor.language.errors import Fault
from reactor.language.templates.calls import Functions
from reactor.language.templates.values import OwnMap

_TAIL: Final = r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
_VERSION: Final = re.compile(rf"v?(\d{{1,18}})(?:\.(\d{{1,18}}))?(?:\.(\d{{1,18}}))?{_TAIL}")
_PART: Final = r"(\d{1,18}|[xX*])"
_CONSTRAINT: Final = re.compile(
    rf"(=>|=<|>=|<=|!=|~>|[=<>~^])?\s*v?{_PART}(?:\.{_PART})?(?:\.{_PART})?{_TAIL}"
)
_HYPHEN: Final = re.compile(r"(\S+)\s+-\s+(\S+)")
_ALL: Final = 3
"""How many numbers a version has."""
_WILD: Final = frozenset("xX*")
_HINT: Final = "write it as >=1.2.0, <2.0.0"


class _Version(NamedTuple):
    """A version.

    Sorts as semver requires: by its numbers; a pre-release before its release; its parts, numbers before words.
    """

    major: int
    minor: int
    patch: int
    is_release: bool
    pre: tuple[tuple[int, int, str], ...]


class _Wanted(NamedTuple):
    """One comparison. ``given`` is how many numbers of ``version`` were written, not omitted and not wildcards."""

    sign: str
    version: _Version
    given: int


def semver(text: str) -> OwnMap:
    """Return the parts of a version by name."""
    _, match = _parsed(text)
    parts = OwnMap(
        zip(("Major", "Minor", "Patch"), (int(each or 0) for each in match.groups()[:3]), strict=True)
    )
    return OwnMap(parts, Prerelease=match[4] or "", Metadata=match[5] or "", Original=text)


def semver_compare(constraint: str, text: str) -> bool:
    """Whether the version satisfies the constraint."""
    version, _ = _parsed(text)
    ranges = [_comparisons(each) for each in constraint.split("||")]
    return any(all(_holds(version, wanted) for wanted in each) for each in ranges)


def _parsed(text: str) -> tuple[_Version, re.Match[str]]:
    match = _VERSION.fullmatch(text)
    if match is None:
        raise Fault(f"{text!r} is not a version", "write it as 1.2.3")
    return _version([int(each or 0) for each in match.groups()[:3]], match[4]), match


def _version(numbers: list[int], pre: str | None) -> _Version:
    """Return the version with these numbers. Missing numbers are 0."""
    major, minor, patch = [*numbers, 0, 0, 0][:_ALL]
    parts = tuple(
        (0, int(each), "") if each.isdecimal() else (1, 0, each) for each in (pre or "").split(".") if each
    )
    return _Version(major, minor, patch, not parts, parts)


def _comparisons(text: str) -> list[_Wanted]:
    """Parse the comparisons of one range. Commas or spaces separate them."""
    rest = _HYPHEN.sub(r">=\1 <=\2", text).strip()
    found = []
    while rest:
        match = _CONSTRAINT.match(rest)
        if match is None or (end := rest[match.end() :])[:1] not in ("", " ", ","):
            raise Fault(f"{text.strip()!r} is not a version constraint", _HINT)
        found.append(_wanted(match))
        rest = end.lstrip(" ,")
    if not found:
        raise Fault("a version constraint is empty", _HINT)
    return found


def _wanted(match: re.Match[str]) -> _Wanted:
    numbers: list[int] = []
    for part in match.groups()[1:4]:
        if part is None or part in _WILD:
            break
        numbers.append(int(part))
    given = len(numbers)
    version = _version(numbers, match[5])
    sign = {"=>": ">=", "=<": "<=", "~>": "~", None: "="}.get(match[1], match[1])
    return _Wanted("~" if sign == "=" and given < _ALL else str(sign), version, given)


def _holds(version: _Version, wanted: _Wanted) -> bool:
    is_exclusion = wanted.sign == "!=" and wanted.given == _ALL
    if not version.is_release and wanted.version.is_release and not is_exclusion:
        return False
    return _SIGNS[wanted.sign](version, wanted)


def _is_greater(version: _Version, wanted: _Wanted) -> bool:
    """Whether ``version`` is greater. 1.2.1 is not greater than 1.2, which means every 1.2.x."""
    return (
        version[: wanted.given] > wanted.version[: wanted.given]
        if wanted.given < _ALL
        else version > wanted.version
    )


def _is_same(version: _Version, wanted: _Wanted) -> bool:
    same_numbers = version[: wanted.given] == wanted.version[: wanted.given]
    return same_numbers if wanted.given < _ALL else version == wanted.version


def _is_near(version: _Version, wanted: _Wanted) -> bool:
    """Whether ``~`` accepts ``version``. ``~1.2.3``: not lower, same minor version; ``~1``: same major version."""
    fixed = min(wanted.given, 2)
    return version >= wanted.version and version[:fixed] == wanted.version[:fixed]


def _is_compatible(version: _Version, wanted: _Wanted) -> bool:
    """Whether ``^`` accepts ``version``. ``^1.2.3``: not lower, same numbers up to the first that is not 0.

    If all given numbers are 0, all of these must be the same.
    """
    numbers = wanted.version[: wanted.given]
    fixed = next((index for index, number in enumerate(numbers, 1) if number), wanted.given)
    return version >= wanted.version and version[:fixed] == wanted.version[:fixed]


_SIGNS: Final[dict[str, Callable[[_Version, _Wanted], bool]]] = {
    "=": _is_same,
    "!=": lambda version, wanted: not _is_same(version, wanted),
    ">": _is_greater,
    "<": lambda version, wanted: version < wanted.version,
    ">=": lambda version, wanted: version >= wanted.version,
    "<=": lambda version, wanted: not _is_greater(version, wanted),
    "~": _is_near,
    "^": _is_compatible,
}

FUNCTIONS: Functions = {"semver": semver, "semverCompare": semver_compare}
