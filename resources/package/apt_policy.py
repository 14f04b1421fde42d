"""Reads what ``apt-cache policy`` writes."""

from __future__ import annotations

import re

from reactor.resources.package.catalog import Offer

_PACKAGE = re.compile(r"^(\S+):$", re.MULTILINE)
_CANDIDATE = re.compile(r"^  Candidate: (?!\(none\))(\S+)$", re.MULTILINE)
_VERSION = re.compile(r"^ (?:\*\*\*|   ) (\S+) -?\d+(?: \(phased \d+%\))?$", re.MULTILINE)
"""A version and its priority; Ubuntu adds what part of all hosts it is for as yet."""


_REVERSE_PROVIDES = re.compile(r"^Reverse Provides: *\n((?:\S+ .*\n?)*)", re.MULTILINE)


def parse_policy(text: str) -> dict[str, Offer]:
    """What can be installed, by name. Names that other packages only provide, or need, have no versions."""
    _, *parts = _PACKAGE.split(text)
    offers = {}
    for name, block in zip(parts[::2], parts[1::2], strict=True):
        if versions := tuple(_VERSION.findall(block)):
            candidate = _CANDIDATE.search(block)
            offers[name] = Offer(None if candidate is None else candidate[1], versions)
    return offers


def parse_providers(text: str) -> tuple[str, ...]:
    """The packages that provide the one that ``apt-cache showpkg`` was asked for."""
    found = _REVERSE_PROVIDES.search(text)
    return tuple(sorted({line.split()[0] for line in found[1].splitlines()})) if found else ()
