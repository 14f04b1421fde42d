"""A permanent connection to NATS: it reconnects by itself and keeps its subscriptions."""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress

import trio

from reactor.fleet.link.errors import (
    DisconnectedError,
    LinkError,
    NoAnswerError,
    NoRespondersError,
    UnreachableError,
)
from reactor.fleet.link.handshake import open_session
from reactor.fleet.link.options import Options, Timing
from reactor.fleet.link.pauses import Outage, Pauses
from reactor.fleet.link.queues import Messages, Outbox
from reactor.fleet.link.requests import Requests, Waiting
from reactor.fleet.link.servers import Pool
from reactor.fleet.link.session import SessionTasks
from reactor.fleet.link.status import Status, ignore
from reactor.fleet.link.subscriptions import Subscriptions, Take
from reactor.fleet.wire import commands
from reactor.fleet.wire.parser import Message

NO_RESPONDERS = 503
_FAREWELL = 1.0
_MOST_REASONS = 100


class Connection:
    """``epoch`` counts the connections made: after each, what was missed has to be looked up.

    ``on_problem`` gets each problem that operators should know: a denied subject (once), a slow reader, a reason for being down,
    once in each outage.
    """

    def __init__(
        self,
        options: Options,
        *,
        on_problem: Callable[[LinkError], None] = ignore,
        timing: Timing | None = None,
    ) -> None:
        """Raises ContextError for a malformed URL of a server."""
        self.options = options
        self.epoch = 0
        self.pool = Pool(options.servers)
        self._on_problem = on_problem
        self._timing = timing or Timing()
        self._tokens = itertools.count(1)
        self._inbox = f"{options.inbox_prefix}.{secrets.token_hex(11)}"
        self.requests = Requests()
        self._subscriptions = Subscriptions()
        self.outbox = Outbox()
        self._tasks: SessionTasks | None = None
        self._up = trio.Event()
        self._failed_rounds = trio.Event()
        self._reported: set[str] = set()
        self._watchers: set[Callable[[Status], None]] = set()
        self.status = Status(False, "", trio.current_time())
        self._subscriptions.add(f"{self._inbox}.*", self.requests.take)

    # --- its life

    async def run(self) -> None:
        """Stay connected until cancelled. A failure is reported, and retried without limit."""
        pauses = Pauses(self._timing, self.options.credentials)
        failures = 0
        try:
            while True:
                outage = await self._connect_once()
                failures = 0 if outage.lasted else failures + 1
                if failures >= len(self.pool):
                    self._failed_rounds.set()
                await pauses.wait(outage, len(self.pool))
        finally:
            self.requests.fail(self._down())

    async def _connect_once(self) -> Outage:
        server = self.pool.next()
        try:
            session = await open_session(server, self.options, self._timing.handshake)
        except LinkError as error:
            self._set_status(Status(False, str(server), self.status.since, error))
            return Outage(error)
        began = trio.current_time()
        tasks = SessionTasks(session, self)
        try:
            self._opened(tasks)
            outage = await tasks.run(self._timing.ping)
        finally:
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(session.stream)
            self._closed()
        self._lost(outage, str(server))
        return Outage(outage.error, max(trio.current_time() - began, 1e-9), outage.moving)

    def _opened(self, tasks: SessionTasks) -> None:
        self._tasks = tasks
        self.outbox.discard()
        for command in self._subscriptions.commands():
            self.outbox.add(command)
        self.epoch += 1
        self._up.set()
        session, now = tasks.session, trio.current_time()
        self._set_status(Status(True, str(session.server), now, None, session.certificate_ends))

    def _closed(self) -> None:
        self._tasks = None
        self._up = trio.Event()
        self.outbox.discard()

    def _lost(self, outage: Outage, server: str) -> None:
        words = f"the connection to the NATS server {server} was lost"
        self.requests.fail(DisconnectedError(words, outage.error.message))
        self._set_status(Status(False, server, trio.current_time(), outage.error))

    def _set_status(self, status: Status) -> None:
        self.status = status
        if status.up:
            self._reported.clear()
        elif (why := status.why) and str(why) not in self._reported and len(self._reported) < _MOST_REASONS:
            self._reported.add(str(why))
            self._on_problem(why)
        for watcher in tuple(self._watchers):
            watcher(status)

    @contextmanager
    def watched(self, watcher: Callable[[Status], None]) -> Iterator[None]:
        """Call ``watcher`` when the connection comes up, goes down, or the servers of the cluster change."""
        self._watchers.add(watcher)
        try:
            yield
        finally:
            self._watchers.discard(watcher)

    @property
    def up(self) -> bool:
        """Whether there is a connection."""
        return self._up.is_set()

    async def wait_up(self) -> None:
        """Wait until there is a connection."""
        await self._up.wait()

    async def first_up(self, seconds: float) -> None:
        """Wait for the first connection. Raises the reason once all servers have failed, or at the timeout."""
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                for event in (self._up, self._failed_rounds):
                    nursery.start_soon(_ends, event, nursery.cancel_scope)
        if not self.up:
            servers = ", ".join(map(str, self.pool))
            raise self.status.why or UnreachableError(
                f"can't reach the NATS server {servers}: no answer in {seconds:g} s",
                "check that nats-server runs there, the URL, and firewalls between",
            )

    def leave(self, why: LinkError) -> None:
        """Go to another server, if there is one."""
        if self._tasks is not None and any(str(each) != self.status.server for each in self.pool):
            self._tasks.leave(why)

    # --- what the tasks of a session report

    def take(self, message: Message) -> None:
        """Hand a message to its subscription."""
        self._subscriptions.take(message)

    def denied(self, error: LinkError, subject: str, publishing: bool) -> None:
        """Fail the requests and subscriptions of a denied subject, and report it once."""
        is_told = publishing and self.requests.deny(error, subject)
        if not is_told and self._subscriptions.is_new_denial(subject, publishing):
            self._on_problem(error)

    def moved(self) -> None:
        """The servers of the cluster have changed."""
        for watcher in tuple(self._watchers):
            watcher(self.status)

    # --- messages

    @contextmanager
    def subscribed(
        self, subject: str, take: Take, *, queue: str | None = None, optional: bool = False
    ) -> Iterator[None]:
        """Call ``take`` with each message while the block lasts. ``optional``: if it is denied, that is not reported.

        Raises ValueError for a malformed subject.
        """
        sid = self._subscriptions.add(subject, take, queue, optional=optional)
        if self.up:
            self.outbox.add(commands.subscribe(subject, sid, queue))
        try:
            yield
        finally:
            if self._subscriptions.remove(sid) and self.up:
                self.outbox.add(commands.unsubscribe(sid))

    @contextmanager
    def messages(self, subject: str, *, queue: str | None = None, most: int = 65_536) -> Iterator[Messages]:
        """Read the messages of a subject one by one. If a slow reader loses messages, the first loss is reported."""
        messages = Messages(most)

        def take(message: Message) -> None:
            if not messages.put(message) and messages.lost == 1:
                self._on_problem(
                    LinkError(
                        f"messages of {subject} are lost: they come faster than they are read", code="R0907"
                    )
                )

        with self.subscribed(subject, take, queue=queue):
            yield messages

    async def publish(
        self,
        subject: str,
        data: bytes = b"",
        *,
        reply: str | None = None,
        headers: Mapping[str, str] | None = None,
        wildcards: bool = False,
    ) -> None:
        """Send a message; waits while the outbox is full. Raises DisconnectedError, or ValueError for a subject."""
        await self._send(commands.publish(subject, data, reply=reply, headers=headers, wildcards=wildcards))

    async def _send(self, command: bytes, until: float = math.inf) -> None:
        """Put a command into the outbox, unless it stays full ``until`` then."""
        tasks = self._session_tasks()
        tasks.require_accepted(command)
        while self.outbox.full:
            with trio.move_on_at(until) as scope:
                await self.outbox.room()
            if scope.cancelled_caught:
                return
            if self._tasks is not tasks:
                raise self._down()
        self.outbox.add(command)

    async def request(
        self,
        subject: str,
        data: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        seconds: float = 5.0,
        wildcards: bool = False,
        optional: bool = False,
    ) -> Message:
        """Return the answer. Raises NoAnswerError, NoRespondersError, DeniedError or DisconnectedError."""
        waiting = Waiting(subject, seconds, optional=optional)
        return (await self._answers(waiting, data, headers, wildcards=wildcards))[0]

    async def request_many(self, subject: str, data: bytes, *, seconds: float) -> list[Message]:
        """Return the answers up to one with a status, which is the last. Raises as `request` does."""
        return await self._answers(Waiting(subject, seconds, many=True), data)

    async def _answers(
        self,
        waiting: Waiting,
        data: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        wildcards: bool = False,
    ) -> list[Message]:
        reply, subject = self.inbox(), waiting.subject
        command = commands.publish(subject, data, reply=reply, headers=headers, wildcards=wildcards)
        self.requests.add(reply, waiting)
        try:
            await self._send(command, waiting.until)
            answers = await waiting.result()
        finally:
            self.requests.remove(reply)
        if answers[0].status == NO_RESPONDERS and not answers[0].data:
            raise NoRespondersError(f"nothing answers to {subject} at the NATS server {self.status.server}")
        return answers

    async def flush(self, seconds: float = 5.0) -> None:
        """Wait until the server has taken all that was sent. Raises NoAnswerError or DisconnectedError."""
        tasks = self._session_tasks()
        try:
            with trio.fail_after(seconds):
                answered = await tasks.pinged()
        except trio.TooSlowError:
            raise NoAnswerError(
                f"no answer from the NATS server {self.status.server} to PING in {seconds:g} s"
            ) from None
        if not answered:
            raise self._down()

    def inbox(self, *more: str) -> str:
        """Return a new subject for answers."""
        return ".".join((self._inbox, *more, str(next(self._tokens))))

    def _session_tasks(self) -> SessionTasks:
        if self._tasks is None:
            raise self._down()
        return self._tasks

    def _down(self) -> DisconnectedError:
        why = self.status.why
        where = self.status.server or ", ".join(map(str, self.pool))
        words = f"there is no connection to the NATS server {where}" + (f": {why.message}" if why else "")
        return DisconnectedError(words, why.hint if why else None)


async def _ends(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


@asynccontextmanager
async def connected(
    options: Options,
    *,
    seconds: float = 3.0,
    on_problem: Callable[[LinkError], None] = ignore,
    timing: Timing | None = None,
) -> AsyncIterator[Connection]:
    """Yield a connection that is up. Raises LinkError when there is none within ``seconds``, as for a command."""
    connection = Connection(options, on_problem=on_problem, timing=timing)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run)
        failure: Exception | None = None
        try:
            await connection.first_up(seconds)
            yield connection
            with trio.CancelScope(shield=True), trio.move_on_after(_FAREWELL):
                await _farewell(connection)
        except Exception as error:  # noqa: BLE001 - it leaves below, where the nursery does not wrap it in a group
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _farewell(connection: Connection) -> None:
    """Send the messages that were published last."""
    if connection.up:
        with suppress(LinkError):
            await connection.flush(_FAREWELL)
