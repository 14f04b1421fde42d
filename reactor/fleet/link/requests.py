"""The pending requests. Each is answered, denied, times out, or fails with the connection."""

from __future__ import annotations

from collections.abc import Callable

import trio

from reactor.fleet.link.errors import ForeignServerError, LinkError
from reactor.fleet.wire.parser import Message


class Waiting:
    """One pending request. ``many``: it has several answers, of which the last has a status."""

    def __init__(self, subject: str, many: bool, largest: int) -> None:
        """``largest``: the size limit in bytes of all answers together."""
        self.subject = subject
        self.answers: list[Message] = []
        self._many = many
        self._left = largest
        self._error: LinkError | None = None
        self._done = trio.Event()

    def take(self, message: Message) -> bool:
        """Add an answer; returns whether it is the last."""
        self.answers.append(message)
        self._left -= len(message.data)
        if self._left < 0:
            self.fail(ForeignServerError(f"the answers to {self.subject} are too large"))
        elif not self._many or message.status:
            self._done.set()
        return self._done.is_set()

    def fail(self, error: LinkError) -> None:
        """End it with an error."""
        self._error = error
        self._done.set()

    async def result(self) -> list[Message]:
        """Wait for the answers. Raises the error of a failed request."""
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return self.answers


class Requests:
    """All requests of a connection, by their reply subject."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, reply: str, waiting: Waiting) -> None:
        """Expect answers to ``reply``."""
        self._waiting[reply] = waiting

    def remove(self, reply: str) -> None:
        """Stop expecting answers. A late answer is ignored."""
        self._waiting.pop(reply, None)

    def take(self, message: Message) -> None:
        """Take an answer."""
        waiting = self._waiting.get(message.subject)
        if waiting is not None and waiting.take(message):
            self.remove(message.subject)

    def fail(self, error: LinkError, matches: Callable[[Waiting], bool] = lambda _: True) -> int:
        """Fail all matching requests; return how many."""
        failed = [reply for reply, waiting in self._waiting.items() if matches(waiting)]
        for reply in failed:
            self._waiting.pop(reply).fail(error)
        return len(failed)
