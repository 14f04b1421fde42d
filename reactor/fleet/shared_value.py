"""A value that a host shares: the document in the bucket ``reactor_shared``, under the key ``HOST.NAME``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from reactor.fleet.link.key_value import Entry, is_key

LARGEST = 128 * 1024
"""Bytes of a document that are read. A value has at most 64 KiB, and its groups come on top."""


class SharedValue(NamedTuple):
    """``groups``: as the host reports them; they are not verified. ``revision`` grows with each change."""

    host: str
    name: str
    value: Any
    groups: tuple[str, ...]
    revision: int = 0
    time: float = 0.0

    @property
    def key(self) -> str:
        """The key in the bucket."""
        return f"{self.host}.{self.name}"

    def to_bytes(self) -> bytes:
        """Return the document."""
        return json.dumps({"v": self.value, "groups": [*self.groups]}).encode()


def shared_value(entry: Entry) -> SharedValue | None:
    """Return the value of an entry; None if it was deleted, or is damaged or too large, or has a name that is none."""
    host, _, name = entry.key.rpartition(".")
    if entry.deleted or len(entry.value) > LARGEST or not host or not is_key(entry.key):
        return None
    try:
        found = json.loads(entry.value)
        groups = tuple(found["groups"])
        value = found["v"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if value is None or not all(isinstance(each, str) for each in groups):
        return None
    return SharedValue(host, name, value, groups, entry.revision, entry.time)


def by_host(entries: Iterable[Entry]) -> list[SharedValue]:
    """Return the values of the entries that have any, by name and host."""
    found = (shared_value(entry) for entry in entries)
    return sorted((each for each in found if each is not None), key=lambda each: (each.name, each.host))
