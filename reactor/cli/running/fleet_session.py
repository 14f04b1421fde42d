"""Shared by the commands of ``reactor fleet``: the connection of a command, and the output of errors."""

from __future__ import annotations

import getpass
import json
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NoReturn, TypeVar

import click
import trio

from reactor.cli.messages import fail_for, notice
from reactor.cli.options.common import Format
from reactor.errors import ReactorError, first_of
from reactor.fleet.link.errors import ApiError, IdentityError, MissingError, NoAnswerError, TlsError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.status import Status
from reactor.fleet.operator.clock import ServerClock
from reactor.fleet.operator.quorum import follow_quorum
from reactor.fleet.operator.server_config import OPERATOR_CREDENTIALS
from reactor.fleet.operator.session import follow_servers, operator_session
from reactor.fleet.operator.where import Predicate, WhereError, everything, parse_where

_T = TypeVar("_T")


def author() -> str:
    """The name of the user at this machine, as the author of a change."""
    return f"{os.environ.get('SUDO_USER') or getpass.getuser()}@{socket.gethostname()}"


def run_or_fail(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run ``work``. An error ends the command with exit code 1."""
    try:
        return trio.run(work)
    except ReactorError as error:
        _fail(error)
    except BaseExceptionGroup as group:
        first = first_of(group)
        if not isinstance(first, ReactorError) or group.split(ReactorError)[1] is not None:
            raise
        _fail(first)


def _fail(error: ReactorError) -> NoReturn:
    is_of_servers = isinstance(error, NoAnswerError | ApiError | MissingError) and error.hint is None
    fail_for(
        error, 1, hint="'reactor fleet doctor' says what is wrong with the servers" if is_of_servers else None
    )


def within(home: str, work: Callable[[JetStream], Awaitable[_T]], user: str = OPERATOR_CREDENTIALS) -> _T:
    """Do ``work`` with a connection of ``user``. An error ends the command with exit code 1."""

    async def in_session() -> _T:
        async with operator_session(home, user=user) as js:
            return await work(js)

    return run_or_fail(in_session)


def within_by_clock(home: str, read: Callable[[JetStream], Awaitable[_T]]) -> tuple[_T, float]:
    """Read as `within`; return also the time on the clock of the servers, in seconds since 1970."""

    async def work(js: JetStream) -> tuple[_T, float]:
        return await read(js), await ServerClock(js).now()

    return within(home, work)


def within_until_signal(
    home: str, work: Callable[[JetStream], Awaitable[object]], user: str = OPERATOR_CREDENTIALS
) -> int:
    """Do ``work`` as `within`, until SIGTERM or SIGINT. Return the number of the signal; 0 if the work ended first.

    The connection outlives the work, which may have a lease to give back. Says when it is lost, and when it is there again;
    likewise for the leader of JetStream.
    """

    async def in_session(js: JetStream) -> int:
        with js.connection.watched(_Outages().take):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(follow_quorum, js.connection, _tell_quorum)
                nursery.start_soon(follow_servers, js.connection, home, user)
                number = await _until_signal(partial(work, js))
                nursery.cancel_scope.cancel()
        return number

    return within(home, in_session, user)


def warn_of_no_leader() -> None:
    """Say that what the servers tell may have changed since."""
    notice(
        "JetStream has no leader: the server that answers may be cut off, and its answers out of date",
        "'reactor fleet doctor' says what is wrong with the servers",
    )


def _tell_quorum(is_there: bool) -> None:
    if is_there:
        notice("JetStream has a leader again", None)
    else:
        warn_of_no_leader()


class _Outages:
    """Writes once that the connection is lost, why no server takes this user any more, and that it is there again."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def take(self, status: Status) -> None:
        """Look at the status of the connection."""
        if status.up and self._told:
            notice(f"the NATS server {status.server} answers again", None)
            self._told.clear()
        elif not status.up and not self._told:
            why = f": {status.why.message}" if status.why else ""
            notice(f"lost the connection to the NATS server {status.server}, trying again{why}", None)
            self._told.add(status.why.message if status.why else "")
        elif isinstance(status.why, IdentityError | TlsError) and status.why.message not in self._told:
            notice(status.why.message, status.why.hint)
            self._told.add(status.why.message)


async def _until_signal(work: Callable[[], Awaitable[object]]) -> int:
    received = 0
    async with trio.open_nursery() as nursery:

        async def ended() -> None:
            await work()
            nursery.cancel_scope.cancel()

        numbers = [
            each
            for each in (signal.SIGTERM, signal.SIGINT)
            if signal.getsignal(each) is not signal.SIG_IGN  # as in the background of a shell
        ]
        with trio.open_signal_receiver(*numbers) as signals:
            nursery.start_soon(ended)
            async for number in signals:
                received = number
                nursery.cancel_scope.cancel()
                break
    return received


def print_change(form: Format, fields: dict[str, Any], sentence: str) -> None:
    """Print the changes of a command, for programs or for people."""
    click.echo(json.dumps(fields) if form == "json" else sentence)


def chosen_by(where: str) -> Predicate:
    """The function that chooses hosts. A wrong expression ends the command with bad usage."""
    if not where:
        return everything
    try:
        return parse_where(where)
    except WhereError as error:
        fail_for(error)
