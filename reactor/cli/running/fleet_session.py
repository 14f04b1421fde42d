"""What the commands of ``reactor fleet`` share: a connection for each command, and errors as they are shown."""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click
import trio

from reactor.cli.messages import fail_for
from reactor.cli.options.formats import Format
from reactor.errors import ReactorError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.server_config import OPERATOR_CREDENTIALS
from reactor.fleet.operator.session import operator_session
from reactor.fleet.operator.where import Predicate, WhereError, everything, parse_where

_T = TypeVar("_T")


def author() -> str:
    """The person at this machine, for others to see."""
    return f"{os.environ.get('SUDO_USER') or getpass.getuser()}@{socket.gethostname()}"


def run_or_fail(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run ``work``. An error ends the command with exit code 1."""
    try:
        return trio.run(work)
    except ReactorError as error:
        fail_for(error, 1)
    except BaseExceptionGroup as group:
        errors, rest = group.split(ReactorError)
        if errors is None or rest is not None:
            raise
        fail_for(_first(errors), 1)


def within(home: str, work: Callable[[JetStream], Awaitable[_T]], user: str = OPERATOR_CREDENTIALS) -> _T:
    """Do ``work`` with a connection of ``user``. An error ends the command with exit code 1."""

    async def in_session() -> _T:
        async with operator_session(home, user=user) as js:
            return await work(js)

    return run_or_fail(in_session)


def _first(group: BaseExceptionGroup[ReactorError]) -> ReactorError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ReactorError)  # noqa: S101 - the group was split by it
    return error


def said(form: Format, fields: dict[str, Any], sentence: str) -> None:
    """Say what a command changed: for programs, or for people."""
    click.echo(json.dumps(fields) if form == "json" else sentence)


def chosen_by(where: str) -> Predicate:
    """The function that chooses hosts. A wrong expression ends the command with bad usage."""
    if not where:
        return everything
    try:
        return parse_where(where)
    except WhereError as error:
        fail_for(error)
