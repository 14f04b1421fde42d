"""Gives the JWT of an account to all servers, and finds out which of them have taken it.

Each server answers for itself. There are those that answer, and those that the others name as members of the cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import trio

from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import LinkError, NoAnswerError
from reactor.fleet.operator.cluster_members import (
    PATIENCE,
    STATES,
    ClusterMembers,
    object_in,
    parsed_answer,
    server_of,
)
from reactor.fleet.wire.parser import Message, printable


class Confirmations(NamedTuple):
    """Names of servers: those that have taken a JWT, and those that have not said so.

    ``unnamed``: further members of the cluster that did not say so, whose names nobody knows.
    """

    confirmed: tuple[str, ...]
    missing: tuple[str, ...] = ()
    unnamed: int = 0


async def update_account(connection: Connection, token: str) -> Confirmations:
    """Let the servers take the JWT of an account. Raises LinkError if none does."""
    answers = _Answers()
    states, updates = connection.inbox("servers"), connection.inbox("accounts")
    with (
        connection.subscribed(states, answers.take_state),
        connection.subscribed(updates, answers.take_update),
    ):
        await connection.publish(STATES, reply=states)
        await connection.publish("$SYS.REQ.CLAIMS.UPDATE", token.encode(), reply=updates)
        with trio.move_on_after(PATIENCE):
            await answers.complete.wait()
    if not answers.confirmed:
        raise LinkError(
            f"the servers do not take the accounts: {answers.refusal or 'no answer'}",
            "include the newest accounts.conf in their configuration; its resolver is of the type full",
            code=NoAnswerError.code,
        )
    known = answers.members.names | answers.confirmed
    return Confirmations(
        tuple(sorted(answers.confirmed)),
        tuple(sorted(known - answers.confirmed)),
        max(answers.members.count - len(known), 0),
    )


class _Answers:
    """The answers of all servers so far."""

    def __init__(self) -> None:
        self.complete = trio.Event()
        self.members = ClusterMembers()
        self.confirmed: set[str] = set()
        self.refusal = ""

    def take_state(self, message: Message) -> None:
        """Learn the names of servers."""
        self.members.take(message)
        self._look()

    def take_update(self, message: Message) -> None:
        """Note whether a server has taken the JWT."""
        found = parsed_answer(message)
        if object_in(found.get("data")).get("code") == 200:  # noqa: PLR2004 - as in HTTP
            self.confirmed.add(printable(server_of(found)))
        else:
            self.refusal = message.data.decode(errors="replace")[:300]
        self._look()

    def _look(self) -> None:
        names = self.members.names
        if names and names <= self.confirmed and len(names) >= self.members.count:
            self.complete.set()
