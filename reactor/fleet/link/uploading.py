"""Sends the chunks of an object in order, several without waiting for acknowledgements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from reactor.fleet.link.api import JetStreamApi, acknowledged
from reactor.fleet.link.connection import NO_RESPONDERS
from reactor.fleet.link.errors import DisconnectedError, LinkError, NoAnswerError, NoRespondersError
from reactor.fleet.link.queues import Messages

_IN_FLIGHT = 16
_AFTERMATH = 1.0


class Upload:
    """The upload of one object. Each chunk is sent once: a repeated one could arrive out of order."""

    def __init__(self, js: JetStreamApi, stream: str, subject: str, reply: str, messages: Messages) -> None:
        self._js = js
        self._stream = stream
        self._subject = subject
        self._reply = reply
        self._messages = messages
        self._epoch = js.connection.epoch
        self._waiting = 0

    async def send(self, chunk: bytes) -> None:
        """Send the next chunk. Raises LinkError, also for an earlier one that was refused."""
        await self._js.connection.publish(self._subject, chunk, reply=self._reply)
        self._waiting += 1
        if self._waiting >= _IN_FLIGHT:
            await self._acknowledged()

    async def finish(self) -> None:
        """Wait until all chunks are stored. Raises LinkError."""
        while self._waiting:
            await self._acknowledged()

    async def abort(self) -> None:
        """Wait a short time for chunks in flight, so that they can be deleted."""
        with trio.CancelScope(shield=True), trio.move_on_after(_AFTERMATH):
            while self._waiting:
                try:
                    await self._acknowledged()
                except LinkError:
                    if self._lost:
                        return

    @property
    def _lost(self) -> bool:
        connection = self._js.connection
        return not connection.up or connection.epoch != self._epoch

    async def _acknowledged(self) -> None:
        where, why = self._js.connection.status.server, self._js.connection.status.why
        self._waiting -= 1
        with trio.move_on_after(self._js.seconds):
            while (message := await self._messages.get()) is None:
                if self._lost:
                    words = f"the connection to the NATS server {where} was lost"
                    raise DisconnectedError(words, why.message if why else None)
            if message.status == NO_RESPONDERS:
                await self._js.require_stream(self._stream)
                raise NoRespondersError(f"nothing answers to {self._subject} at the NATS server {where}")
            acknowledged(message, self._subject)
            return
        raise NoAnswerError(f"no answer from the NATS server {where} to {self._subject}")


@contextmanager
def uploading(js: JetStreamApi, stream: str, subject: str) -> Iterator[Upload]:
    """Yield an upload to ``subject``, which ``stream`` takes."""
    connection = js.connection
    reply = connection.inbox("p")
    with connection.messages(reply) as messages, connection.watched(lambda _: messages.wake()):
        yield Upload(js, stream, subject, reply, messages)
