"""How large a bundle may be. Large files belong on a web server, with a ``checksum`` in the manifest."""

from __future__ import annotations

from typing import NamedTuple

from reactor.unpacking.members import UnpackingLimits

_MIB = 1 << 20


class BundleLimits(NamedTuple):
    """``packed`` and ``unpacked`` are the most bytes of a bundle and of its files; ``members`` is the most of these."""

    packed: int = 64 * _MIB
    unpacked: int = 512 * _MIB
    members: int = 100_000

    @property
    def for_unpacking(self) -> UnpackingLimits:
        """The same limits for `reactor.unpacking`."""
        return UnpackingLimits(members=self.members, size=self.unpacked)


LIMITS = BundleLimits()
"""The limits where the user sets none."""
