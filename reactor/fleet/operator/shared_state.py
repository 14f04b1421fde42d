"""Reads what hosts share: the held slots, and the shared values."""

from __future__ import annotations

from typing import NamedTuple

from reactor.fleet.bucket_names import SHARED, SLOTS
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.key_value import Entry, is_key
from reactor.fleet.shared_value import SharedValue, by_host
from reactor.fleet.slot_holder import Place, holder_of


class HeldSlot(NamedTuple):
    """A held slot.

    ``renewed``: the time when its lease was last renewed, in seconds since 1970 on the server's clock.
    """

    name: str
    group: str
    number: str
    host: str
    ref: str
    renewed: float


async def held_slots(js: JetStream, name: str | None) -> list[HeldSlot]:
    """Return the held slots of one name, or all, by name and number. Raises LinkError."""
    entries = await js.key_value(SLOTS).entries("*.*.*")
    found = [_held(entry) for entry in entries if is_key(entry.key)]
    return sorted(each for each in found if name is None or each.name == name)


def _held(entry: Entry) -> HeldSlot:
    place = Place.of(entry.key)
    name, _, group = place.name.partition("=")
    holder = holder_of(entry.key, entry.value)
    return HeldSlot(name, group, place.number, holder.host, holder.ref, entry.time)


async def shared_values(js: JetStream, name: str | None) -> list[SharedValue]:
    """Return the values of one name or all, by name and host. Raises LinkError."""
    return [each for each in by_host(await js.key_value(SHARED).entries()) if name in (None, each.name)]
