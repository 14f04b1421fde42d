"""Tracks our own renames of files that were verified afterwards: their events can be ignored.

An event says that a path must be checked. The check that has replaced a file reads it again after the rename, so it has
seen everything that happened before that reading. The event of our own rename is older, and can hide no younger one:
the kernel merges an event only with an equal one, and each rename has a cookie of its own. Without the checks of these
events, a first convergence with watches takes a third less time.
"""

from __future__ import annotations

import os


class OwnRenames:
    """The temporary names of files that were renamed, and of those that were verified since.

    A watcher that reads the events sets ``is_followed``, counts its reads in ``reads``, and calls `forget` whenever it
    has read all events: a name that was not met by then is not ours any more. Another program may use it.
    """

    def __init__(self) -> None:
        self.is_followed = False
        self.reads = 0
        self._renamed: dict[str, tuple[int, str]] = {}
        self.verified: dict[bytes, bytes] = {}
        """The paths of verified files, by their temporary names, while the events are still to be read."""

    def renamed(self, path: str, temporary: str) -> None:
        """The file named ``temporary``, in the directory of ``path``, was renamed to ``path``."""
        if self.is_followed:
            self._renamed[path] = (self.reads, temporary)

    def verify(self, path: str) -> None:
        """``path`` was read after its rename, and is as desired. Does nothing if events were read meanwhile."""
        if (renamed := self._renamed.pop(path, None)) is not None and renamed[0] == self.reads:
            self.verified[os.fsencode(renamed[1])] = os.fsencode(path)

    def forget(self) -> None:
        """Forget all names."""
        self._renamed.clear()
        self.verified.clear()


own_renames = OwnRenames()
"""The renames of this process."""
