"""The pending requests. Each is answered, denied, times out, or fails with the connection."""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

from reactor.fleet.link.errors import ForeignServerError, LinkError, NoAnswerError
from reactor.fleet.wire.parser import Message

_LARGEST_ANSWER = 64 << 20
"""The size limit in bytes of all answers to one request together."""


class Waiting:
    """One pending request. ``many``: it has several answers, of which the last has a status.

    ``optional``: who asks can do without, so that only it is told if it is denied.
    """

    __slots__ = ("_done", "_error", "_left", "_many", "answers", "optional", "seconds", "subject", "until")

    def __init__(self, subject: str, seconds: float, *, many: bool = False, optional: bool = False) -> None:
        """``seconds``: the time limit, which ends at ``until`` on trio's clock."""
        self.subject = subject
        self.seconds = seconds
        self.until = trio.current_time() + seconds
        self.answers: list[Message] = []
        self.optional = optional
        self._many = many
        self._left = _LARGEST_ANSWER
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
    """All requests of a connection, by their reply subject. One task watches the time limits of all."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._timer = trio.CancelScope()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, reply: str, waiting: Waiting) -> None:
        """Expect answers to ``reply``."""
        self._waiting[reply] = waiting
        if waiting.until < self._timer.deadline:  # noqa: PLR1730 - to set it takes longer than to compare
            self._timer.deadline = waiting.until

    def remove(self, reply: str) -> None:
        """Stop expecting answers. A late answer is ignored."""
        if self._waiting.pop(reply, None) is not None and not self._waiting:
            self._timer.deadline = math.inf

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

    def deny(self, error: LinkError, subject: str) -> bool:
        """Fail the requests for a subject. Return whether there were any, and all of them are optional."""
        denied = [each for each in self._waiting.values() if each.subject == subject]
        self.fail(error, denied.__contains__)
        return bool(denied) and all(each.optional for each in denied)

    async def expire(self, server: object) -> None:
        """Fail each request at its time limit, until cancelled. ``server`` is named in the errors."""
        while True:
            due = min((each.until for each in self._waiting.values()), default=math.inf)
            with trio.CancelScope(deadline=due) as self._timer:
                await trio.sleep_forever()
            now = trio.current_time()
            for reply, late in tuple(self._waiting.items()):
                if late.until <= now:
                    words = (
                        f"no answer from the NATS server {server} to {late.subject} in {late.seconds:.3g} s"
                    )
                    self._waiting.pop(reply).fail(NoAnswerError(words))
