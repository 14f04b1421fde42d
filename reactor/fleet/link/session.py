"""The tasks of one open connection: reading, sending, and PING at an interval."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

import trio

from reactor.fleet.link.errors import DeniedError, LinkError, TooLargeError, UnreachableError
from reactor.fleet.link.handshake import Session, explained, refused
from reactor.fleet.link.options import Options
from reactor.fleet.link.pauses import Outage
from reactor.fleet.link.queues import Outbox
from reactor.fleet.link.requests import Requests
from reactor.fleet.link.servers import Pool
from reactor.fleet.link.tcp import CHUNK
from reactor.fleet.wire import commands
from reactor.fleet.wire.parser import Info, Message, Operation, Ping, Pong, ProtocolError, ServerError

_DENIED = re.compile(
    r"permissions violation for (?:(publish) to|(subscription) to|publish with reply of) \"([^\"]*)\"",
    re.IGNORECASE,
)
_STAYS = (
    "permissions violation",
    "invalid subject",
    "invalid publish subject",
    "maximum subscriptions exceeded",
    "message headers not supported",
)
_MISSED_PINGS = 2
_MOST_PONGS = 10_000
"""Unsent answers after which a server that floods with PING is given up."""


class Owner(Protocol):
    """The permanent connection: what it sends through each of its sessions, and what it is told of them."""

    options: Options
    pool: Pool
    requests: Requests
    outbox: Outbox

    def take(self, message: Message) -> None:
        """Hand a message to its subscription."""

    def denied(self, error: LinkError, subject: str, publishing: bool) -> None:
        """Fail the requests and subscriptions of a denied subject, and report it once."""

    def moved(self) -> None:
        """The servers of the cluster have changed."""


class SessionTasks:
    """Run until the connection ends."""

    def __init__(self, session: Session, owner: Owner) -> None:
        self.session = session
        self._owner = owner
        self._pongs: deque[Callable[[bool], None]] = deque()
        self._outage: Outage | None = None
        self._scope = trio.CancelScope()
        self._silent_pings = 0
        self._unsent_pongs = 0

    async def run(self, ping: float) -> Outage:
        """Return why the connection ended. ``ping``: the seconds between two PINGs."""
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._guarded, self._read)
                    nursery.start_soon(self._guarded, self._send)
                    nursery.start_soon(self._guarded, self._beat, ping)
                    nursery.start_soon(self._owner.requests.expire, self.session.server)
        finally:
            while self._pongs:
                self._pongs.popleft()(False)
        return self._outage or Outage(UnreachableError(f"the connection to {self.session.server} ended"))

    def require_accepted(self, command: bytes) -> None:
        """Raise TooLargeError if the server takes no message as large as that of ``command``."""
        size = len(command) - command.index(b"\r\n") - 2 * len(b"\r\n")
        largest = self.session.info.get("max_payload")
        if isinstance(largest, int) and 0 < largest < size:
            subject = command.split(b" ", 2)[1].decode(errors="replace")
            raise TooLargeError(
                f"a message for {subject} has {size} bytes, and the NATS server {self.session.server} takes at most {largest}",
                "raise max_payload in the configuration of each server, whose default is 1MB",
            )

    def leave(self, why: LinkError) -> None:
        """End the connection; the next one is made at once, to another server."""
        self._end(why, moving=True)

    async def pinged(self) -> bool:
        """Wait for the answer to a PING; False when the connection ends before."""
        done = trio.Event()
        answers: list[bool] = []

        def answered(good: bool) -> None:
            answers.append(good)
            done.set()

        self._ping(answered)
        await done.wait()
        return answers[0]

    def _ping(self, answered: Callable[[bool], None]) -> None:
        self._pongs.append(answered)
        self._owner.outbox.add(commands.PING)

    def _end(self, error: LinkError, *, moving: bool = False) -> None:
        if self._outage is None:
            self._outage = Outage(error, moving=moving)
            self._scope.cancel()

    async def _guarded(self, task: Callable[..., Awaitable[None]], *args: object) -> None:
        """Run a task. An error of the network ends the connection, and nothing else."""
        try:
            await task(*args)
        except (
            OSError,
            EOFError,
            trio.BrokenResourceError,
            trio.ClosedResourceError,
            ProtocolError,
        ) as error:
            self._end(explained(error, self.session.server, self._owner.options))

    async def _read(self) -> None:
        session = self.session
        self._note(session.info)
        for operation in session.early:
            self._take(operation)
        session.early.clear()
        while self._outage is None:
            data = await session.stream.receive_some(CHUNK)
            if not data:
                raise EOFError
            for operation in session.parser.feed(data):
                self._take(operation)

    async def _send(self) -> None:
        while True:
            data = await self._owner.outbox.take()
            self._unsent_pongs = 0
            await self.session.stream.send_all(data)

    async def _beat(self, seconds: float) -> None:
        while True:
            await trio.sleep(seconds)
            if self._silent_pings >= _MISSED_PINGS:
                raise trio.BrokenResourceError("it does not answer any more")
            self._silent_pings += 1
            self._ping(lambda _: None)

    def _take(self, operation: Operation) -> None:
        match operation:
            case Message():
                self._owner.take(operation)
            case Ping():
                self._owner.outbox.add(commands.PONG)
                self._unsent_pongs += 1
                if self._unsent_pongs > _MOST_PONGS:
                    raise ProtocolError("it sends PING and does not read the answers")
            case Pong():
                self._silent_pings = 0
                if self._pongs:
                    self._pongs.popleft()(True)
            case Info(values):
                self._note(values)
            case ServerError(text):
                self._refused(text)

    def _note(self, info: dict[str, object]) -> None:
        """Handle an INFO: the servers of the cluster, and whether this server is about to stop."""
        session = self.session
        changed = info.get("connect_urls") != session.info.get("connect_urls")
        session.info.update(info)
        if not self._owner.options.fixed_servers:
            self._owner.pool.update_discovered(info.get("connect_urls"), session.server)
        if info.get("ldm") and len(self._owner.pool) > 1:
            self.leave(UnreachableError(f"the NATS server {session.server} is about to stop"))
        elif changed:
            self._owner.moved()

    def _refused(self, text: str) -> None:
        server, options = self.session.server, self._owner.options
        denied = _DENIED.match(text)
        if denied:
            publishing, subscribing, subject = denied.groups()
            action = "publish to" if publishing else "subscribe to" if subscribing else "ask for answers to"
            error = DeniedError(
                f"the NATS server {server} does not let the user {action} {subject}",
                "give the user this permission on the server",
            )
            self._owner.denied(error, subject, bool(publishing))
        elif not text.lower().startswith(_STAYS):
            self._end(refused(text, server, options))
