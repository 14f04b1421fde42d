"""Versions as rpm compares them: ``[epoch:]version[-release]``, by rpm-version(7)."""

from __future__ import annotations

import re
from typing import NamedTuple

_SEGMENTS = re.compile(r"[~^]|[0-9]+|[A-Za-z]+")

_TILDE, _END, _CARET, _WORD, _NUMBER = range(5)
"""What a segment is, from the oldest to the newest."""

Segments = tuple[tuple[int, int | str], ...]


class Evr(NamedTuple):
    """A version in its parts. What was not said is None."""

    epoch: int | None
    version: str
    release: str | None

    @classmethod
    def of(cls, text: str) -> Evr:
        """The parts of ``text``."""
        epoch, colon, rest = text.partition(":")
        if not (colon and epoch.isdecimal()):
            epoch, rest = "", text
        version, hyphen, release = rest.rpartition("-")
        if not hyphen:
            return cls(int(epoch) if epoch else None, rest, None)
        return cls(int(epoch) if epoch else None, version, release)


def compare(a: str, b: str) -> int:
    """-1, 0 or 1, as rpm orders versions: no epoch is the epoch 0, and no release is older than any."""
    return _compare(Evr.of(a), Evr.of(b))


def compare_installed(installed: str, wanted: str) -> int:
    """The same for what someone asks for. Like dnf: who names no epoch, or no release, means any."""
    found, asked = Evr.of(installed), Evr.of(wanted)
    if asked.epoch is None:
        found = found._replace(epoch=None)
    if asked.release is None:
        found = found._replace(release=None)
    return _compare(found, asked)


def _compare(a: Evr, b: Evr) -> int:
    one, other = _key(a), _key(b)
    return (one > other) - (one < other)


def _key(evr: Evr) -> tuple[int, Segments, bool, Segments]:
    return (evr.epoch or 0, _segments(evr.version), evr.release is not None, _segments(evr.release or ""))


def _segments(text: str) -> Segments:
    """The text without separators, which only separate."""
    return (*map(_segment, _SEGMENTS.findall(text)), (_END, 0))


def _segment(text: str) -> tuple[int, int | str]:
    if text.isdecimal():
        return (_NUMBER, int(text))
    if text.isalpha():
        return (_WORD, text)
    return (_TILDE if text == "~" else _CARET, 0)
