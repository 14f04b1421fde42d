"""The rank of a host: its position in one rollout."""

from __future__ import annotations

import hashlib

RANKS = 10_000
"""Ranks are 0 to 9,999, so that a wave of this size has every host."""


def rank_of(channel: str, serial: int, host: str, *, is_canary: bool = False) -> int:
    """Return the rank of a host: 0 for a canary; other hosts get a different one for each serial."""
    if is_canary:
        return 0
    digest = hashlib.sha256(f"{channel}\0{serial}\0{host}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % RANKS
