"""Gives the JWT of an account to all servers, and finds out which of them have taken it.

Each server answers for itself. There are those that answer, and those that the others name as members of the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import trio

from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import LinkError, NoAnswerError
from reactor.fleet.wire.parser import Message, printable

_PATIENCE = 3.0
"""Seconds within which the servers must answer."""
_MOST_NAMES = 1000


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
        await connection.publish("$SYS.REQ.SERVER.PING.JSZ", reply=states)
        await connection.publish("$SYS.REQ.CLAIMS.UPDATE", token.encode(), reply=updates)
        with trio.move_on_after(_PATIENCE):
            await answers.complete.wait()
    if not answers.confirmed:
        raise LinkError(
            f"the servers do not take the accounts: {answers.refusal or 'no answer'}",
            "include the newest accounts.conf in their configuration; its resolver is of the type full",
            code=NoAnswerError.code,
        )
    known = answers.known | answers.confirmed
    return Confirmations(
        tuple(sorted(answers.confirmed)),
        tuple(sorted(known - answers.confirmed)),
        max(answers.size - len(known), 0),
    )


class _Answers:
    """The answers of all servers so far. ``size``: the number of members of the cluster."""

    def __init__(self) -> None:
        self.complete = trio.Event()
        self.known: set[str] = set()
        self.confirmed: set[str] = set()
        self.refusal = ""
        self.size = 1

    def take_state(self, message: Message) -> None:
        """Learn the names of servers: of the one that answers, and of those that it knows."""
        found = _parsed(message)
        cluster = _map(_map(found.get("data")).get("meta_cluster"))
        replicas = cluster.get("replicas")
        peers = [_map(each).get("name") for each in replicas] if isinstance(replicas, list) else []
        names = (_server(found), cluster.get("leader"), *peers)
        self.known.update(printable(each) for each in names[:_MOST_NAMES] if isinstance(each, str) and each)
        size = cluster.get("cluster_size")
        self.size = max(self.size, size) if isinstance(size, int) else self.size
        self._look()

    def take_update(self, message: Message) -> None:
        """Note whether a server has taken the JWT."""
        found = _parsed(message)
        if _map(found.get("data")).get("code") == 200:  # noqa: PLR2004 - as in HTTP
            self.confirmed.add(printable(_server(found)))
        else:
            self.refusal = message.data.decode(errors="replace")[:300]
        self._look()

    def _look(self) -> None:
        if self.known and self.known <= self.confirmed and len(self.known) >= self.size:
            self.complete.set()


def _parsed(message: Message) -> Mapping[str, Any]:
    try:
        return _map(json.loads(message.data))
    except (ValueError, RecursionError):
        return {}


def _server(found: Mapping[str, Any]) -> str:
    return str(_map(found.get("server")).get("name", ""))


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
