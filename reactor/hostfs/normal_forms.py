"""Recognizes values that the system writes in another spelling: ``8080,8081`` reads back as ``8080-8081``.

One rule for all kinds: the value that reads back after an accepted write is the normal form of the written one, until
something else changes it. Normal forms are stored in the state directory, so that the next run does not write again,
and as digests, since a value may be secret.
"""

from __future__ import annotations

import re
from typing import Final

from reactor.hostfs.records import read_record, write_record
from reactor.resource.hashes import blake2b

_FOLDER: Final = "normal-forms"
_TOKEN: Final = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|\d+)([kKmMgGtT]?)")
_RANGE: Final = re.compile(r"(\d+)-(\d+)")
_UNITS: Final = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_ONE_SPELLING: Final = re.compile(r"-?(0|[1-9]\d*)|[a-z_]+")
"""A decimal number or a word has one spelling: if another one reads back, the value is another."""


class NormalForms:
    """The normal forms of the values of the resource with this ``kind`` and ``name``."""

    def __init__(self, kind: str, name: str) -> None:
        self._place = (_FOLDER, f"{kind}#{name}")
        self._known: dict[str, list[str]] | None = None

    def agrees(self, key: str, wanted: str, found: str) -> bool:
        """Whether ``found`` is the value ``wanted`` of the property ``key``, in any spelling."""
        return spelled_alike(wanted, found) or self._forms.get(key) == _form(wanted, found)

    def learn(self, key: str, wanted: str, before: str | None, found: str) -> bool:
        """Learn from an accepted write: ``wanted`` replaced ``before``, and ``found`` reads back.

        Returns whether ``wanted`` and ``found`` agree. A write that changed nothing proves nothing. Raises OSError
        when the form can't be stored.
        """
        if self.agrees(key, wanted, found):
            return True
        if found == before or (_has_one_spelling(wanted) and _has_one_spelling(found)):
            return False
        self._forms[key] = _form(wanted, found)
        write_record(*self._place, self._forms)
        return True

    @property
    def _forms(self) -> dict[str, list[str]]:
        if self._known is None:
            record = read_record(*self._place) or {}
            self._known = {key: form for key, form in record.items() if isinstance(form, list)}
        return self._known


def _form(wanted: str, found: str) -> list[str]:
    return [
        blake2b(text.encode(errors="surrogateescape"), digest_size=16).hexdigest() for text in (wanted, found)
    ]


def spelled_alike(wanted: str, found: str) -> bool:
    """Whether both are the same numbers, or, with commas, the same set of numbers and ranges."""
    if wanted == found:
        return True
    if "," in f"{wanted}{found}":
        return (spans := _spans(wanted)) is not None and spans == _spans(found)
    return (numbers := _numbers(wanted)) is not None and numbers == _numbers(found)


def _has_one_spelling(value: str) -> bool:
    return all(_ONE_SPELLING.fullmatch(part) for part in value.split())


def _numbers(text: str) -> list[int] | None:
    found = [_number(part) for part in text.split()]
    return [each for each in found if each is not None] if found and None not in found else None


def _number(text: str) -> int | None:
    """The number that strtoul(3) reads in ``text`` with base 0, with the units of the kernel; None if it is none."""
    if (match := _TOKEN.fullmatch(text)) is None:
        return None
    digits = match[2]
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    try:
        value = int(digits, base) << _UNITS[match[3].lower()]
    except ValueError:
        return None
    return -value if match[1] else value


def _spans(text: str) -> list[tuple[int, int]] | None:
    """The ranges in ``text``, in order, with adjacent ranges merged; None if it contains anything else."""
    found = []
    for part in text.split(","):
        ends = _RANGE.fullmatch(part.strip())
        first, last = (_number(ends[1]), _number(ends[2])) if ends else (_number(part.strip()),) * 2
        if first is None or last is None:
            return None
        found.append((first, last))
    merged: list[tuple[int, int]] = []
    for first, last in sorted(found):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
