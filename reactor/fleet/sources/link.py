"""Reads manifests and data from NATS, and follows them. `LINK` is the entry point of the schemes ``kv`` and ``obj``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, TypeVar

import trio

from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.context import read_context
from reactor.fleet.link.errors import (
    ContextError,
    DeniedError,
    IdentityError,
    LinkError,
    MissingError,
    UnreachableError,
)
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.status import Status
from reactor.fleet.sources import place as places
from reactor.fleet.sources.place import Place, parse_place
from reactor.source.address import Address
from reactor.source.download import MAX_BYTES, DownloadError, Version
from reactor.source.links import State

if TYPE_CHECKING:
    from reactor.fleet.sources.publisher import NatsPublisher
    from reactor.fleet.sources.values import NatsValues

T = TypeVar("T")

CONNECTING = 3.0
"""The time limit in seconds for the answer of a server."""
READING = 60.0
"""Seconds for reading one object or key."""
_PAUSE = 5.0
"""Seconds between two attempts to follow a bucket that is missing or denied."""


class NatsLink:
    """Reads with the connection of `follow` if there is one, else with a connection of its own."""

    def __init__(self) -> None:
        self._live: dict[str, tuple[trio.lowlevel.TrioToken, JetStream]] = {}
        self._states: dict[str, State] = {}

    def fault(self, url: str, *, archive: bool) -> tuple[str, str] | None:
        """Implements `reactor.source.links.Link`."""
        return places.fault(url, archive=archive)

    def download(self, address: Address, known: Version, to: IO[bytes]) -> Version | None:
        """Implements `reactor.source.links.Link`. Blocks: in a run, call it in a thread."""

        async def read(js: JetStream) -> Version | None:
            return await _read(js, parse_place(address.url), known, to)

        token, js = self._live.get(address.context, (None, None))
        if js is not None and js.connection.up:
            try:
                return trio.from_thread.run(read, js, trio_token=token)
            except trio.RunFinishedError:  # the run ends, and what is read now is not used
                raise DownloadError(f"the run ended while {address.shown} was read") from None
        return trio.run(_alone, address.context, read)

    async def follow(
        self, addresses: Sequence[Address], changed: Callable[[], None], warn: Callable[[str], None]
    ) -> None:
        """Implements `reactor.source.links.Link`. All addresses have the same context."""
        try:
            async with self.live(addresses[0].context, warn) as js, trio.open_nursery() as nursery:
                for address in addresses:
                    nursery.start_soon(_watch, js, parse_place(address.url), changed, warn)
        except ContextError as error:
            warn(f"changes in NATS are not seen at once: {error}")

    def network(self, context: str, stream: str | None) -> NatsValues:
        """Implements `reactor.source.links.Link`."""
        from reactor.fleet.sources.values import NatsValues  # noqa: PLC0415 - most manifests read no values

        return NatsValues(self, context, stream)

    def publisher(self, context: str, destination: str, stream: str | None) -> NatsPublisher:
        """Implements `reactor.source.links.Link`."""
        from reactor.fleet.sources.publisher import NatsPublisher  # noqa: PLC0415 - most runs register nothing

        return NatsPublisher(self, context, destination, stream)

    def watch_state(self, context: str, changed: State) -> None:
        """Implements `reactor.source.links.Link`."""
        self._states[context] = changed

    @asynccontextmanager
    async def live(self, context: str, warn: Callable[[str], None]) -> AsyncIterator[JetStream]:
        """Yield the permanent connection that all users of the context in this run share. Raises ContextError.

        The first user owns it, so all must end together. In the block, `download` uses it too.
        """
        if (found := self._live.get(context)) is not None:
            yield found[1]
            return
        connection = Connection(read_context(context), on_problem=lambda error: warn(str(error)))
        js = JetStream(connection)
        self._live[context] = (trio.lowlevel.current_trio_token(), js)
        failure: Exception | None = None
        try:
            with connection.watched(partial(self._report, context)):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(connection.run)
                    try:
                        yield js
                    except Exception as error:  # noqa: BLE001 - it leaves below, where the nursery does not wrap it
                        failure = error
                    nursery.cancel_scope.cancel()
        finally:
            del self._live[context]
        if failure is not None:
            raise failure

    def _report(self, context: str, status: Status) -> None:
        """Pass on the state of a connection."""
        if (changed := self._states.get(context)) is None:
            return
        if status.up:
            changed("armed", f"connected to {status.server}")
        elif status.why is not None:
            state = "denied" if isinstance(status.why, IdentityError | DeniedError) else "down"
            changed(state, str(status.why))

    def call(self, context: str, work: Callable[[JetStream], Awaitable[T]]) -> T:
        """Do ``work`` with the connection of the run, or else with one of its own. Blocks. Raises LinkError."""
        token, js = self._live.get(context, (None, None))
        if trio_token() is not None:
            raise UnreachableError("the value would have to be read while everything else waits")
        if js is not None:
            if not js.connection.up:
                raise js.connection.status.why or UnreachableError("there is no connection to NATS yet")
            try:
                return trio.from_thread.run(work, js, trio_token=token)
            except trio.RunFinishedError:  # the run ends, and what is read now is not used
                raise UnreachableError("the run has ended") from None
        return trio.run(_alone, context, work)


def trio_token() -> trio.lowlevel.TrioToken | None:
    """Return the token of the event loop that runs in this thread; None if there is none."""
    try:
        return trio.lowlevel.current_trio_token()
    except RuntimeError:
        return None


async def _alone(context: str, read: Callable[[JetStream], Awaitable[T]]) -> T:
    async with connected(read_context(context), seconds=CONNECTING) as connection:
        return await read(JetStream(connection))


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
