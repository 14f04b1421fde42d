"""The holder of a slot: its key and its value.

The key of a slot is ``NAME.NUMBER.HOST``, and a host may write only keys that end in its own name. So no host can end the
lease of another, and the key names the holder. The value is only shown, and not trusted.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from reactor.fleet.documents import is_host_id

_MOST_BYTES = 2048
_LONGEST_REF = 200
UNKNOWN = "an unknown host"


class Place(NamedTuple):
    """One slot of a set. A key that is not written this way is in none."""

    name: str
    number: str

    @classmethod
    def of(cls, key: str) -> Place:
        """The slot that a key is about."""
        name, number = key.split(".")[:2]
        return cls(name, number)

    @property
    def filter(self) -> str:
        """The keys of all hosts."""
        return f"{self.name}.{self.number}.*"

    def key(self, host: str) -> str:
        """The key with which ``host`` holds it."""
        return f"{self.name}.{self.number}.{host}"


class Holder(NamedTuple):
    """``ref`` is the resource that is changed; ``token`` identifies the lease."""

    host: str
    ref: str
    token: str

    def to_bytes(self) -> bytes:
        """The stored form of the holder."""
        fields = {"v": 1, "ref": self.ref[:_LONGEST_REF], "token": self.token}
        return json.dumps(fields).encode()


def holder_of(key: str, value: bytes) -> Holder:
    """Read the entry of a slot. One with a damaged value holds its slot too."""
    host = key.rpartition(".")[2]
    try:
        found = json.loads(value[:_MOST_BYTES])
        ref, token = (str(found[name]) for name in ("ref", "token"))
    except (ValueError, TypeError, KeyError, RecursionError):
        ref = token = ""
    return Holder(host if is_host_id(host) else UNKNOWN, ref[:_LONGEST_REF], token)
