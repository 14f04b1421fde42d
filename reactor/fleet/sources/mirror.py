"""The files with the last values of the network, which are used while the network is unavailable."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from typing import Any, NamedTuple

from reactor.atomic_write import replace_file

_FOLDER = "network"
_WORD = re.compile(r"[^A-Za-z0-9]+")
_LONGEST_WORD = 60
_MODE = 0o600


class Mirrored(NamedTuple):
    """A value, and the time when it was read, in seconds since 1970."""

    value: Any
    read: float


class Mirrors:
    """The files below the state directory ``state``. They are read at once, and written after `keep`."""

    def __init__(self, state: str) -> None:
        self._folder = os.path.join(state, _FOLDER)
        self.is_kept = False

    def keep(self) -> None:
        """Allow writing. Raises OSError."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self.is_kept = True

    def path(self, name: str) -> str:
        """Return the file of the value ``name``."""
        word = _WORD.sub("-", name)[:_LONGEST_WORD]
        return os.path.join(self._folder, f"{word}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.json")

    def read(self, name: str) -> Mirrored | None:
        """Return the last value; None if there is none, or its file is damaged."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                found = json.load(file)
            if found["name"] != name:
                return None
            return Mirrored(found["value"], float(found["read"]))
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None

    def write(self, name: str, value: Any) -> float:
        """Write a value; return the time, or 0 before `keep`. Raises OSError."""
        if not self.is_kept:
            return 0.0
        now = time.time()
        record = {"name": name, "read": now, "value": value}
        replace_file(self.path(name), json.dumps(record).encode(), _MODE)
        return now
