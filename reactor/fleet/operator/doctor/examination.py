"""Runs all checks. Checks that wait for servers run concurrently."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

import trio

from reactor.errors import ReactorError
from reactor.fleet.link.connection import connected
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator.cluster import cluster_size
from reactor.fleet.operator.doctor.check import Check, wrong
from reactor.fleet.operator.doctor.files import authority_checks, directory_checks, signers_check
from reactor.fleet.operator.doctor.servers import (
    Answer,
    accounts_checks,
    first_answer,
    reach_check,
    state_of,
    user_checks,
)
from reactor.fleet.operator.doctor.streams import admission_checks, permission_checks, streams_checks
from reactor.fleet.operator.keyring import KeyringError
from reactor.fleet.operator.server_config import (
    ADMITTING_CREDENTIALS,
    SYSTEM_CREDENTIALS,
    load_operator_directory,
)
from reactor.fleet.operator.session import operator_options

_ANSWER, _REST = 1.3, 1.4
"""The time limits in seconds of the first answers of servers, and of the other checks: together less than 3."""
_REQUEST = 1.0
"""The time limit in seconds of one later request: some servers of a cluster may not answer."""
_NO_SERVER = "no server answers that lets the operator in, so streams, clocks and permissions are not tried"

Work = Callable[[], Awaitable[list[Check]]]


async def examine(home: str, signers: str) -> list[Check]:
    """Run all checks for the fleet of the operator's directory ``home``, in less than 3 seconds."""
    try:
        options = operator_options(home)
    except KeyringError as error:
        found = directory_checks(home, "reactor fleet init URL...")
        return [*found, signers_check(signers), wrong("servers", error.message, error.hint)]
    init = _init_command(home, options)
    checks = [*directory_checks(home, init), signers_check(signers), *authority_checks(options)]
    answers = await _first_answers(options)
    checks += [check for answer in answers for check in answer.checks]
    reached = [answer for answer in answers if answer.identity is not None]
    if not reached:
        return [*checks, wrong("fleet", _NO_SERVER, "see the checks of servers")]
    return checks + await _beside(_works(home, reached, init))


def _init_command(home: str, options: Options) -> str:
    words = ["reactor", "fleet", "init", *options.servers, "--home", home]
    return shlex.join([*words, *(["--ca", options.ca] if options.ca else [])])


async def _first_answers(options: Options) -> list[Answer]:
    found: dict[str, Answer] = {}

    async def ask(url: str) -> None:
        found[url] = await first_answer(url, options, _ANSWER)

    async with trio.open_nursery() as nursery:
        for url in options.servers:
            nursery.start_soon(ask, url)
    return [found[url] for url in options.servers]


def _works(home: str, reached: Sequence[Answer], init: str) -> list[tuple[str, Work]]:
    """Return the checks that run concurrently, by name."""
    urls = tuple(answer.url for answer in reached)
    operator, system, admitting = (
        replace(options, servers=urls, fixed_servers=True)
        for options in (
            operator_options(home),
            operator_options(home, SYSTEM_CREDENTIALS),
            operator_options(home, ADMITTING_CREDENTIALS),
        )
    )

    async def asked(check: Callable[[JetStream], Awaitable[list[Check]]]) -> list[Check]:
        async with connected(operator, seconds=_REST) as connection:
            return await check(JetStream(connection, seconds=_REQUEST))

    async def streams() -> list[Check]:
        size = await cluster_size(system, _REST)
        return await asked(lambda js: streams_checks(js, size, init))

    async def accounts() -> list[Check]:
        return await accounts_checks(load_operator_directory(home), system, _REST, init)

    states = [(f"state of {answer.url}", partial(state_of, answer, system, _REST)) for answer in reached]
    reaches = [
        (f"JetStream of {answer.url}", partial(reach_check, answer, operator, system, _REST))
        for answer in reached
        if not answer.stores
    ]
    user = "user of the admitting service"
    return [
        *states,
        *reaches,
        ("accounts", accounts),
        (user, partial(user_checks, user, admitting, _REST)),
        ("permissions of the operator", partial(asked, permission_checks)),
        ("streams", streams),
        ("service that admits hosts", partial(asked, admission_checks)),
    ]


async def _beside(works: Sequence[tuple[str, Work]]) -> list[Check]:
    """Run ``works`` concurrently. A check that takes too long, or raises an error, has failed."""
    found: dict[int, list[Check]] = {}

    async def do(number: int, name: str, work: Work) -> None:
        found[number] = [wrong(name, "no answer in time", "see the checks of servers and quorum")]
        with trio.move_on_after(_REST):
            try:
                found[number] = await work()
            except ReactorError as error:
                found[number] = [wrong(name, error.message, error.hint)]

    async with trio.open_nursery() as nursery:
        for number, (name, work) in enumerate(works):
            nursery.start_soon(do, number, name, work)
    return [check for number in sorted(found) for check in found[number]]
