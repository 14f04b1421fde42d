"""Compares versions as rpm does: ``[epoch:]version[-release]``, by rpm-version(7)."""

from __future__ import annotations

import re
from typing import NamedTuple

_SEGMENTS = re.compile(r"[~^]|[0-9]+|[A-Za-z]+")

_TILDE, _END, _CARET, _WORD, _NUMBER = range(5)
"""The types of segments, from the oldest to the newest."""

Segments = tuple[tuple[int, int | str], ...]


class Evr(NamedTuple):
    """The parts of a version; None for a missing one."""

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
    """-1, 0 or 1, in the order of rpm: a missing epoch is 0, and a missing release is older than any."""
    return _compare(Evr.of(a), Evr.of(b))


def compare_installed(installed: str, wanted: str) -> int:
    """As `compare`, but as in dnf, a missing epoch or release of ``wanted`` matches any."""
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
    """The sort key of a version or release, without its separators."""
    return (*map(_segment, _SEGMENTS.findall(text)), (_END, 0))


def _segment(text: str) -> tuple[int, int | str]:
    if text.isdecimal():
        return (_NUMBER, int(text))
    if text.isalpha():
        return (_WORD, text)
    return (_TILDE if text == "~" else _CARET, 0)
