"""Where a host of a fleet keeps its secrets: encrypted files, and the age key that opens them."""

from __future__ import annotations

import os


class FleetPlace:
    """``directory`` has a file with ciphertext for each secret; ``identity`` is the file with the age key.

    ``used`` are the names that the manifest reads: the link to the fleet looks at these. A thread may add to them while
    another one reads them.
    """

    def __init__(self, directory: str, identity: str) -> None:
        self.directory = directory
        self.identity = identity
        self._before: frozenset[str] = frozenset()
        self._now: frozenset[str] = frozenset()

    @property
    def used(self) -> frozenset[str]:
        """The names that the loads of now and before have read."""
        return self._before | self._now

    def begin_load(self) -> None:
        """Another load begins: it may read other names."""
        self._before, self._now = self._now, frozenset()

    def path(self, name: str) -> str:
        """Return the file of a secret, which counts as used from now on."""
        self._now |= {name}
        return os.path.join(self.directory, name)
