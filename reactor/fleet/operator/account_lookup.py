"""Asks all servers for the JWT of an account. One of them may be behind, or lie, and may be the first to answer."""

from __future__ import annotations

import trio

from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import NoAnswerError
from reactor.fleet.operator.cluster_members import PATIENCE, STATES, ClusterMembers
from reactor.fleet.wire.nkeys import NkeyError
from reactor.fleet.wire.parser import Message
from reactor.fleet.wire.tokens import TokenError, claims_of, has_good_signature


async def account_tokens(connection: Connection, account: str, operator: str) -> list[str]:
    """Return the JWTs of an account that the servers have, each once. What ``operator`` has not signed is left out.

    Waits until as many have answered as the cluster has members, for at most `PATIENCE` seconds. Raises LinkError if none does.
    """
    answers = _Answers()
    states, tokens = connection.inbox("servers"), connection.inbox("accounts")
    with (
        connection.subscribed(states, answers.take_state),
        connection.subscribed(tokens, answers.take_token),
    ):
        await connection.publish(STATES, reply=states)
        await connection.publish(f"$SYS.REQ.ACCOUNT.{account}.CLAIMS.LOOKUP", reply=tokens)
        with trio.move_on_after(PATIENCE):
            await answers.complete.wait()
    if not answers.texts:
        raise NoAnswerError(f"no server has told its JWT of the account {account} within {PATIENCE:g} s")
    return [each for each in dict.fromkeys(answers.texts) if _is_good(each, account, operator)]


class _Answers:
    """The answers of all servers so far."""

    def __init__(self) -> None:
        self.complete = trio.Event()
        self.texts: list[str] = []
        self._members = ClusterMembers()

    def take_state(self, message: Message) -> None:
        """Learn the number of servers."""
        self._members.take(message)
        self._look()

    def take_token(self, message: Message) -> None:
        """Note the answer of a server."""
        if not message.status:
            self.texts.append(message.data.decode(errors="replace").strip())
            self._look()

    def _look(self) -> None:
        if self._members.names and len(self.texts) >= self._members.count:
            self.complete.set()


def _is_good(text: str, account: str, operator: str) -> bool:
    try:
        claims = claims_of(text)
        return (claims.get("sub"), claims.get("iss")) == (account, operator) and has_good_signature(text)
    except (TokenError, NkeyError, ValueError):
        return False
