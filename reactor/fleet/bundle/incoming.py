"""A bundle on its way to this host: what has arrived stays on disk, so that a download goes on where it broke off.

Below the state directory::

    fleet/downloads/<channel>.bundle   what has arrived; more may stand there after a kill
    fleet/downloads/<channel>.json     how much of it counts, and after which chunk to go on

The second is replaced after each piece, by one rename. Nothing is synced here: after a power failure a piece may be wrong, then
the digest of the whole is, and the download begins again.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import IO, NamedTuple

from reactor.fleet.bundle.errors import NoRoomError

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_PRIVATE = 0o600
_RESERVE = 16 << 20
"""Bytes that stay free for the journal and for others."""


class Arrived(NamedTuple):
    """``object``: which copy of ``bundle`` the servers sent; ``sequence``: its last chunk that is here; ``size`` in bytes."""

    bundle: str = ""
    object: str = ""
    sequence: int = 0
    size: int = 0


class IncomingBundle:
    """The bundle that a channel waits for, in ``root``, the directory of `reactor.fleet.bundle.store.BundleStore`.

    Each call blocks, and raises OSError.
    """

    def __init__(self, root: str, channel: str) -> None:
        self._directory = os.path.join(root, "downloads")
        self._data = os.path.join(self._directory, f"{channel}.bundle")
        self._position = os.path.join(self._directory, f"{channel}.json")

    def arrived(self) -> Arrived:
        """Return what is here. A damaged record counts as nothing."""
        try:
            with open(self._position, encoding="utf-8") as file:
                found = Arrived(**json.load(file))
            is_whole = 0 <= found.size <= os.stat(self._data, follow_symlinks=False).st_size
        except (OSError, ValueError, TypeError):
            return Arrived()
        return found if is_whole else Arrived()

    def begin(self, bundle: str, copy: str) -> Arrived:
        """Forget what is here, and wait for this copy of a bundle."""
        self.remove()
        for path in (os.path.dirname(self._directory), self._directory):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
        return self._at(Arrived(bundle, copy))

    def require_room(self, size: int) -> None:
        """Raise NoRoomError if ``size`` more bytes would fill the disk, on which the host has its other files, too."""
        there = os.statvfs(self._directory)
        free = there.f_bavail * there.f_frsize
        if free < size + _RESERVE:
            words = f"a bundle needs {size + _RESERVE:,} bytes on the disk of {self._directory}, and {free:,} are free"
            raise NoRoomError(words, "make room there, or name another state directory")

    def add(self, arrived: Arrived, sequence: int, data: bytes) -> Arrived:
        """Keep one more chunk after what has ``arrived``; return what has arrived then."""
        with self._open() as file:
            file.seek(arrived.size)
            file.write(data)
        return self._at(arrived._replace(sequence=sequence, size=arrived.size + len(data)))

    def opened(self) -> IO[bytes]:
        """Open it for reading."""
        return self._open()

    def remove(self) -> None:
        """Forget what is here."""
        for path in (self._position, self._data):
            with suppress(FileNotFoundError):
                os.unlink(path)

    def _open(self) -> IO[bytes]:
        return os.fdopen(os.open(self._data, _FLAGS, _PRIVATE), "r+b")

    def _at(self, arrived: Arrived) -> Arrived:
        aside = f"{self._position}.new"
        with os.fdopen(os.open(aside, _FLAGS | os.O_TRUNC, _PRIVATE), "w") as file:
            json.dump(arrived._asdict(), file)
        os.rename(aside, self._position)
        return arrived
