"""Reads manifests and data from NATS, and follows them. `LINK` is the entry point of the schemes ``kv`` and ``obj``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING

import trio

from reactor.fleet.link.errors import (
    ContextError,
    LinkError,
    MissingError,
)
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.sources import place as places
from reactor.fleet.sources.connections import Connections
from reactor.fleet.sources.place import Place, parse_place
from reactor.source.download import MAX_BYTES, DownloadError
from reactor.source.links import Address, State, Version

if TYPE_CHECKING:
    from reactor.fleet.sources.publisher import NatsPublisher
    from reactor.fleet.sources.values import NatsValues

READING = 60.0
"""Seconds for reading one object or key."""
_PAUSE = 5.0
"""Seconds between two attempts to follow a bucket that is missing or denied."""


class NatsLink:
    """Reads with the connection of `follow` if there is one, else with a connection of its own."""

    def __init__(self) -> None:
        self._connections = Connections()

    def fault(self, url: str, *, archive: bool) -> tuple[str, str] | None:
        """Implements `reactor.source.links.Link`."""
        return places.fault(url, archive=archive)

    def download(self, address: Address, known: Version, to: IO[bytes]) -> Version | None:
        """Implements `reactor.source.links.Link`. Blocks: in a run, call it in a thread."""

        async def read(js: JetStream) -> Version | None:
            return await _read(js, parse_place(address.url), known, to)

        try:
            return self._connections.call_if_up(address.context, read)
        except trio.RunFinishedError:  # the run ends, and what is read now is not used
            raise DownloadError(f"the run ended while {address.shown} was read") from None

    async def follow(
        self, addresses: Sequence[Address], changed: Callable[[], None], warn: Callable[[str], None]
    ) -> None:
        """Implements `reactor.source.links.Link`. All addresses have the same context."""
        try:
            async with (
                self._connections.live(addresses[0].context, warn) as js,
                trio.open_nursery() as nursery,
            ):
                for address in addresses:
                    nursery.start_soon(_watch, js, parse_place(address.url), changed, warn)
        except ContextError as error:
            warn(f"changes in NATS are not seen at once: {error}")

    def network(self, context: str, stream: str | None) -> NatsValues:
        """Implements `reactor.source.links.Link`."""
        from reactor.fleet.sources.values import NatsValues  # noqa: PLC0415 - most manifests read no values

        return NatsValues(self._connections, context, stream)

    def publisher(self, context: str, destination: str, stream: str | None) -> NatsPublisher:
        """Implements `reactor.source.links.Link`."""
        from reactor.fleet.sources.publisher import NatsPublisher  # noqa: PLC0415 - most runs register nothing

        return NatsPublisher(partial(self._connections.live, context), destination, stream)

    def watch_state(self, context: str, changed: State) -> None:
        """Implements `reactor.source.links.Link`."""
        self._connections.watch_state(context, changed)


async def _read(js: JetStream, place: Place, known: Version, to: IO[bytes]) -> Version | None:
    """Write the content to ``to``. Raises LinkError, or DownloadError after `READING` seconds."""
    read = _read_key if place.scheme == "kv" else _read_object
    with trio.move_on_after(READING):
        return await read(js, place, known, to)
    raise DownloadError(f"{place.scheme}://{place.bucket}/{place.key} could not be read within {READING:g} s")


async def _read_key(js: JetStream, place: Place, _known: Version, to: IO[bytes]) -> Version:
    entry = await js.key_value(place.bucket).get(place.key)
    if entry is None:
        raise MissingError(
            f"there is no key {place.key} in the key-value bucket {place.bucket}",
            f"write it with `nats kv put {place.bucket} {place.key}`, or correct the name",
        )
    if not entry.value:
        raise DownloadError(f"the value of kv://{place.bucket}/{place.key} is empty", "write the data there")
    to.write(entry.value)
    return Version(str(entry.revision))


async def _read_object(js: JetStream, place: Place, known: Version, to: IO[bytes]) -> Version | None:
    store = js.objects(place.bucket)
    info = await store.info(place.key)
    if info is not None and not info.deleted and info.digest == known.etag:
        return None
    info = await store.get(place.key, to.write, largest=MAX_BYTES)
    return Version(info.digest)


async def _watch(
    js: JetStream, place: Place, changed: Callable[[], None], warn: Callable[[str], None]
) -> None:
    """Call ``changed`` at each change. A missing or denied bucket is reported once, and tried again."""
    warned = ""
    while True:
        try:
            await _changes(js, place, changed)
        except LinkError as error:
            if str(error) != warned:
                warned = str(error)
                warn(f"changes of {place.scheme}://{place.bucket}/{place.key} are not seen at once: {error}")
        await trio.sleep(_PAUSE)


async def _changes(js: JetStream, place: Place, changed: Callable[[], None]) -> None:
    if place.scheme == "kv":
        async with js.key_value(place.bucket).watch(place.key, headers_only=True) as entries:
            async for _ in entries:
                changed()
    else:
        async with js.objects(place.bucket).watch(place.key) as infos:
            async for _ in infos:
                changed()


LINK = NatsLink()
