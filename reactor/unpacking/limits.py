"""How much may come out of an archive, and the count of what has."""

from __future__ import annotations

from dataclasses import dataclass

from reactor.unpacking.members import UnpackingError

_GIB = 1 << 30
_ALWAYS = 64 << 20
"""Bytes that may come out of the smallest archive: what compresses well need not be a bomb."""


@dataclass(frozen=True, slots=True)
class UnpackingLimits:
    """``size`` is in bytes, unpacked; ``ratio`` says how many times larger than the archive that may be."""

    members: int = 100_000
    size: int = 16 * _GIB
    ratio: int = 200


class Budget:
    """What is left of the limits while an archive of ``packed`` bytes is unpacked."""

    def __init__(self, limits: UnpackingLimits, packed: int) -> None:
        self._limits = limits
        self._most = max(_ALWAYS, limits.ratio * packed)
        self._members = 0

    def take_member(self) -> None:
        """Count one member. Raises UnpackingError for one too many."""
        self._members += 1
        if self._members > self._limits.members:
            words = f"the archive holds more than {self._limits.members} members"
            raise UnpackingError(words, "raise the limit if you trust it")

    def allow(self, total: int) -> None:
        """Raise UnpackingError if ``total`` bytes are too many to come out of the archive."""
        if total > self._limits.size:
            words = f"the archive unpacks to more than {size_in_words(self._limits.size)}"
            raise UnpackingError(words, "raise the limit if you trust it")
        if total > self._most:
            words = f"the archive unpacks to more than {self._limits.ratio} times its size"
            raise UnpackingError(words, "it looks like a bomb: raise the limit if you trust it")


def size_in_words(size: int) -> str:
    """A number of bytes for people: ``64 MiB``."""
    amount, units = float(size), ["bytes", "KiB", "MiB", "GiB"]
    while amount >= 1024 and len(units) > 1:  # noqa: PLR2004 - what the binary units are powers of
        amount, units = amount / 1024, units[1:]
    return f"{amount:.3g} {units[0]}"
