"""The value of a slot: its holder. Any host may write one, so it is only shown, and not trusted."""

from __future__ import annotations

import json
from typing import NamedTuple

from reactor.fleet.documents import is_host_id

_MOST_BYTES = 2048
_LONGEST_REF = 200
UNKNOWN = "an unknown host"


class Holder(NamedTuple):
    """``ref`` is the resource that is changed; ``token`` identifies the lease."""

    host: str
    ref: str
    token: str

    def to_bytes(self) -> bytes:
        """The stored form of the holder."""
        fields = {"v": 1, "host": self.host, "ref": self.ref[:_LONGEST_REF], "token": self.token}
        return json.dumps(fields).encode()


def holder_of(value: bytes) -> Holder:
    """Read the value of a slot. A damaged one still holds its slot, by `UNKNOWN`."""
    try:
        found = json.loads(value[:_MOST_BYTES])
        host, ref, token = (str(found[name]) for name in ("host", "ref", "token"))
    except (ValueError, TypeError, KeyError, RecursionError):
        return Holder(UNKNOWN, "", "")
    return Holder(host if is_host_id(host) else UNKNOWN, ref[:_LONGEST_REF], token)
