"""Reads the values that hosts share."""

from __future__ import annotations

from reactor.fleet.bucket_names import SHARED
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.shared_value import SharedValue, by_host


async def shared_values(js: JetStream, name: str | None) -> list[SharedValue]:
    """Return the values of one name or all, by name and host. Raises LinkError."""
    return [each for each in by_host(await js.key_value(SHARED).entries()) if name in (None, each.name)]
