"""How large a bundle may be. Large files belong on a web server, with a ``checksum`` in the manifest."""

from __future__ import annotations

from typing import NamedTuple

from reactor.unpacking.members import UnpackingLimits

_MIB = 1 << 20
_UNPACKED_RATIO = 8


class BundleLimits(NamedTuple):
    """``packed`` and ``unpacked`` are the most bytes of a bundle and of its files; ``members`` is the most of these."""

    packed: int = 64 * _MIB
    unpacked: int = 512 * _MIB
    members: int = 100_000

    def raised_for(self, size: int) -> BundleLimits:
        """The limits for a bundle that may have ``size`` bytes: no limit gets lower."""
        return self._replace(
            packed=max(self.packed, size), unpacked=max(self.unpacked, _UNPACKED_RATIO * size)
        )

    @property
    def for_unpacking(self) -> UnpackingLimits:
        """The same limits for `reactor.unpacking`."""
        return UnpackingLimits(members=self.members, size=self.unpacked)


LIMITS = BundleLimits()
"""The limits where the user sets none."""
