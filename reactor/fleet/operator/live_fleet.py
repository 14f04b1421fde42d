"""The state of all hosts, kept up to date for a page or a screen."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import trio

from reactor.fleet.bucket_names import CHANNELS, DRIVE, HOSTS, SECRETS, STATE
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.documents import DocumentError
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.key_value import Entry
from reactor.fleet.link.reading import ONCE
from reactor.fleet.operator.clock import ServerClock
from reactor.fleet.operator.known_hosts import FleetView, KnownHost, driver_in, unknown_of
from reactor.fleet.operator.stored_secrets import stored_secrets, where_in
from reactor.fleet.rollout.state import ChannelState
from reactor.fleet.rollout.waves import WavesError
from reactor.fleet.sealed_secret import OPERATORS
from reactor.fleet.summary import Summary, read_summary

_Value = TypeVar("_Value")
_DAMAGED = (DocumentError, WavesError, ValueError, KeyError, TypeError)


class LiveFleet:
    """`run` follows the buckets. ``changed`` is set after each change, ``complete`` once all has been read."""

    def __init__(self, js: JetStream) -> None:
        self.changed = DebouncedEvent()
        self.complete = trio.Event()
        self.js = js
        self._clock = ServerClock(js)
        self._specs: dict[str, HostSpec] = {}
        self._summaries: dict[str, tuple[Summary, float]] = {}
        self._channels: dict[str, ChannelState] = {}
        self._drivers: dict[str, str] = {}
        self._wanted: dict[str, str] = {}
        self._secret_keys: dict[str, str] = {}
        self._unread = 6

    async def run(self) -> None:
        """Follow until cancelled.

        Raises LinkError if the servers do not answer at the start, and DocumentError for a damaged spec or channel, as
        reading at once does.
        """
        await self._clock.measure()
        async with trio.open_nursery() as nursery:
            strictly = partial(self._follow, left_out=())
            nursery.start_soon(
                strictly, HOSTS, self._specs, lambda entry: HostSpec.from_bytes(entry.value, entry.key)
            )
            nursery.start_soon(
                self._follow,
                STATE,
                self._summaries,
                lambda entry: (read_summary(entry.value, entry.key), entry.time),
            )
            nursery.start_soon(
                strictly,
                CHANNELS,
                self._channels,
                lambda entry: ChannelState.from_bytes(entry.value, entry.key),
            )
            nursery.start_soon(self._follow, DRIVE, self._drivers, driver_in)
            nursery.start_soon(self._follow, SECRETS, self._wanted, where_in, f"{OPERATORS}.*")
            keys = partial(self._follow, headers_only=True)
            nursery.start_soon(keys, SECRETS, self._secret_keys, lambda entry: entry.key)

    async def _follow(
        self,
        bucket: str,
        kept: MutableMapping[str, _Value],
        read: Callable[[Entry], _Value],
        *filters: str,
        headers_only: bool = False,
        left_out: tuple[type[Exception], ...] = _DAMAGED,
    ) -> None:
        """Keep the values of a bucket. A value whose reader raises one of ``left_out`` counts as none."""
        how: dict[str, Any] = {"headers_only": headers_only, "patience": ONCE, "lasting": True}
        async with self.js.key_value(bucket).watch(*filters, **how) as entries:
            async for entry in entries:
                if entry is None:
                    self._unread -= 1
                    if not self._unread:
                        self.complete.set()
                        self.changed.set()
                    continue
                kept.pop(entry.key, None)
                if not entry.deleted:
                    with suppress(*left_out):
                        kept[entry.key] = read(entry)
                if self.complete.is_set():
                    self.changed.set()

    async def view(self) -> FleetView:
        """Return the current state."""
        hosts = {
            name: KnownHost(spec, *self._summaries.get(name, (None, None)))
            for name, spec in self._specs.items()
        }
        channels = dict(sorted(self._channels.items()))
        secrets = stored_secrets(self._wanted, self._secret_keys)
        now = await self._clock.now()
        unknown = unknown_of(self._summaries, hosts, now)
        return FleetView(hosts, channels, dict(self._drivers), now, secrets, unknown=unknown)
