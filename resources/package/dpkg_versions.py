"""Compares versions as dpkg does: ``[epoch:]upstream[-revision]``, by deb-version(7)."""

from __future__ import annotations

import re

_PAIRS = re.compile(r"([^0-9]*)([0-9]*)")

Part = tuple[tuple[tuple[int, ...], int], ...]
"""A sort key: pairs of a non-digit part and a number, in the order of dpkg."""


def compare(a: str, b: str) -> int:
    """-1, 0 or 1: whether ``a`` is older than ``b``, the same, or newer."""
    one, other = _key(a), _key(b)
    return (one > other) - (one < other)


def _key(version: str) -> tuple[int, Part, Part]:
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, hyphen, revision = rest.rpartition("-")
    if not hyphen:
        upstream, revision = rest, ""
    return (int(epoch) if epoch.isdecimal() else 0, _part(upstream), _part(revision))


def _part(text: str) -> Part:
    """The sort key of one part. The last pair marks the end, which is older than everything but a tilde."""
    pairs = _PAIRS.findall(text or "0")  # a missing revision is the revision 0
    return tuple((_order(other), int(digits or 0)) for other, digits in pairs)


def _order(text: str) -> tuple[int, ...]:
    """The sort key of a non-digit part. The order is: tilde, end, letters, everything else."""
    return (*(_weight(character) for character in text), 0)


def _weight(character: str) -> int:
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256
