"""How large a bundle may be. Large files belong on a web server, with a ``checksum`` in the manifest."""

from __future__ import annotations

from typing import NamedTuple

from reactor.unpacking.members import UnpackingLimits

_MIB = 1 << 20
_UNPACKED_RATIO = 8


class BundleLimits(NamedTuple):
    """The largest sizes of a bundle and of its files, in bytes, and the largest number of its ``members``."""

    packed: int = 64 * _MIB
    unpacked: int = 512 * _MIB
    members: int = 100_000

    def raised_for(self, size: int) -> BundleLimits:
        """These limits, raised where needed so that they allow a bundle of ``size`` bytes."""
        return self._replace(
            packed=max(self.packed, size), unpacked=max(self.unpacked, _UNPACKED_RATIO * size)
        )

    @property
    def for_unpacking(self) -> UnpackingLimits:
        """The same limits for `reactor.unpacking`."""
        return UnpackingLimits(members=self.members, size=self.unpacked)


LIMITS = BundleLimits()
"""The default limits."""
