"""The connections of a run to NATS: one for each context, which all that reads or writes there shares."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import trio

from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.context import read_context
from reactor.fleet.link.errors import DeniedError, IdentityError, UnreachableError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.status import Status
from reactor.source.links import State

T = TypeVar("T")

_CONNECTING = 3.0
"""The time limit in seconds for the answer of a server."""


class Connections:
    """The connections of this run, by context."""

    def __init__(self) -> None:
        self._live: dict[str, tuple[trio.lowlevel.TrioToken, JetStream]] = {}
        self._states: dict[str, State] = {}

    def watch_state(self, context: str, changed: State) -> None:
        """Call ``changed`` at each change of the state of the connection."""
        self._states[context] = changed

    @asynccontextmanager
    async def live(self, context: str, warn: Callable[[str], None]) -> AsyncIterator[JetStream]:
        """Yield the permanent connection that all users of the context in this run share. Raises ContextError.

        The first user owns it, so all must end together. In the block, `call` and `call_if_up` use it, too.
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

    def call_if_up(self, context: str, work: Callable[[JetStream], Awaitable[T]]) -> T:
        """Do ``work`` with the connection of the run if it is up, else with one of its own. Blocks.

        Raises LinkError, and trio.RunFinishedError when the run ends first.
        """
        token, js = self._live.get(context, (None, None))
        if js is not None and js.connection.up:
            return trio.from_thread.run(work, js, trio_token=token)
        return trio.run(_alone, context, work)

    def call(self, context: str, work: Callable[[JetStream], Awaitable[T]]) -> T:
        """Do ``work`` with the connection of the run, or else with one of its own. Blocks. Raises LinkError."""
        token, js = self._live.get(context, (None, None))
        if trio.lowlevel.in_trio_run():
            raise UnreachableError("the value would have to be read while everything else waits")
        if js is not None:
            if not js.connection.up:
                raise js.connection.status.why or UnreachableError("there is no connection to NATS yet")
            try:
                return trio.from_thread.run(work, js, trio_token=token)
            except trio.RunFinishedError:  # the run ends, and what is read now is not used
                raise UnreachableError("the run has ended") from None
        return trio.run(_alone, context, work)


async def _alone(context: str, read: Callable[[JetStream], Awaitable[T]]) -> T:
    async with connected(read_context(context), seconds=_CONNECTING) as connection:
        return await read(JetStream(connection))
