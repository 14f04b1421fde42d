"""Ranges in the names of hosts, as in Ansible.

Examples: ``web[01:20]``, ``db-[a:f]``, ``r[0:30:10]``; a name may have several.
"""

from __future__ import annotations

import re
from itertools import product
from string import ascii_letters

_RANGE = re.compile(r"\[([^\[\]:]*):([^\[\]:]*)(?::([^\[\]:]*))?\]")
_MOST = 100_000


def expanded(name: str) -> list[str]:
    """Return all names that the ranges in ``name`` give. Raises ValueError for a range that can't be understood."""
    parts: list[list[str]] = []
    position = total = 0
    for found in _RANGE.finditer(name):
        parts += [[name[position : found.start()]], _range(*found.groups(), whole=found[0])]
        position = found.end()
    parts.append([name[position:]])
    total = 1
    for part in parts:
        total *= len(part)
    if total > _MOST:
        raise ValueError(f"{name!r} stands for more than {_MOST} hosts")
    rest = "".join(part[0] for part in parts[::2])
    if "[" in rest or "]" in rest:
        raise ValueError(f"{name!r} has a bracket that belongs to no range, as in web[01:20]")
    return ["".join(each) for each in product(*parts)]


def _range(first: str, last: str, step: str | None, *, whole: str) -> list[str]:
    wide = step or "1"
    first = first or "0"
    if not (wide.isascii() and wide.isdecimal() and 0 < int(wide) <= _MOST):
        raise ValueError(f"{whole}: the step is not a number")
    if first.isascii() and last.isascii() and first.isdecimal() and last.isdecimal():
        return _numbers(first, last, int(wide), whole)
    if len(first) == len(last) == 1 and first.isascii() and last.isascii() and (first + last).isalpha():
        letters = ascii_letters[ascii_letters.index(first) : ascii_letters.index(last) + 1 : int(wide)]
        if not letters:
            raise ValueError(f"{whole}: the range ends before it begins")
        return list(letters)
    raise ValueError(f"{whole} is not a range of numbers or letters")


def _numbers(first: str, last: str, step: int, whole: str) -> list[str]:
    width = len(first) if first.startswith("0") and len(first) > 1 else 0
    if max(len(first), len(last)) > 9 or int(last) - int(first) > _MOST * step:  # noqa: PLR2004 - before int() is slow
        raise ValueError(f"{whole} is too large")
    if int(first) > int(last):
        raise ValueError(f"{whole}: the range ends before it begins")
    if width and len(last) < width:
        raise ValueError(f"{whole}: the last number has fewer digits than the first")
    return [str(number).zfill(width) for number in range(int(first), int(last) + 1, step)]
