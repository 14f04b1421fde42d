"""Keeps the alerts of all channels in the state directory, so that a restart loses none."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from reactor.atomic_write import replace_file

FILE = "notifications.json"
_VERSION = 1
_MAX_BYTES = 16 * 2**20


class AlertFile:
    """The file of alerts in the state directory ``directory``, which this run has locked; None keeps nothing."""

    def __init__(self, directory: str | None) -> None:
        self._path = None if directory is None else os.path.join(directory, FILE)

    def read(self) -> tuple[float, dict[str, Any]]:
        """Return when the file was written, in seconds since 1970, and the state of each channel.

        A missing or damaged file is empty: 0 and no channels.
        """
        if self._path is None:
            return 0.0, {}
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            with open(self._path, "rb") as file:
                found = json.loads(file.read(_MAX_BYTES))
            if found["version"] == _VERSION and isinstance(found["channels"], dict):
                return float(found["written"]), found["channels"]
        return 0.0, {}

    def write(self, now: float, channels: Mapping[str, Any]) -> None:
        """Replace the file. ``now`` is seconds since 1970. Raises OSError."""
        if self._path is not None:
            content = {"version": _VERSION, "written": now, "channels": dict(channels)}
            replace_file(self._path, json.dumps(content).encode(), 0o600)
