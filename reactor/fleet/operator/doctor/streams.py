"""Checks the streams, the permissions of the operator to write them, and who answers hosts that join."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from reactor.errors import ReactorError
from reactor.fleet.bucket_names import BUNDLES, CHANNELS, COUNTS, DRIVE, HOSTS, INVITATIONS, SECRETS, STATE
from reactor.fleet.enrolment.requests import SUBJECT
from reactor.fleet.link.errors import (
    DeniedError,
    LinkError,
    MissingError,
    NoAnswerError,
    NoRespondersError,
    WrongRevisionError,
)
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.doctor.check import Check, wrong
from reactor.fleet.operator.doctor.judgements import copies_check, room_check, stream_check
from reactor.fleet.operator.server_config import OPERATOR_CREDENTIALS
from reactor.fleet.operator.streams import wanted_streams

_NO_REVISION = 1 << 62
"""A write that expects this revision of its subject is refused, so that it changes nothing."""
_LATER = (
    "see the checks of servers and quorum; after a failure, servers need some seconds to elect new leaders"
)
_READ = f"$JS.API.DIRECT.GET.KV_{STATE}.$KV.{STATE}.doctor"
_TRIED = (
    _READ,
    *(f"$KV.{bucket}.doctor" for bucket in (CHANNELS, HOSTS, DRIVE, SECRETS, COUNTS, INVITATIONS)),
    f"$O.{BUNDLES}.M.doctor",
    f"$O.{BUNDLES}.C.doctor",
)


async def streams_checks(js: JetStream, servers: int, init: str) -> list[Check]:
    """Compare the streams with the ones that ``init`` makes. ``servers``: the size of the cluster."""
    infos: dict[str, Mapping[str, Any]] = {}
    failed: dict[str, ReactorError] = {}

    async def read(name: str) -> None:
        try:
            infos[name] = await js.stream_info(name)
        except ReactorError as error:
            failed[name] = error

    wanted = wanted_streams()
    async with trio.open_nursery() as nursery:
        for name in wanted:
            nursery.start_soon(read, name)
    if not infos and all(isinstance(error, NoAnswerError) for error in failed.values()):
        first = next(iter(failed.values()))
        return [wrong("streams", first.message, first.hint or _LATER)]
    checks = [
        stream_check(name, infos[name], init) if name in infos else _missing(name, failed[name], init)
        for name in wanted
    ]
    if full := room_check(infos):
        checks.append(full)
    return [*checks, copies_check(infos, servers, init)] if infos else checks


def _missing(name: str, error: ReactorError, init: str) -> Check:
    if isinstance(error, MissingError):
        return wrong(f"stream {name}", error.message, init)
    if isinstance(error, NoAnswerError):
        return wrong(f"stream {name}", "no server that has it answers", _LATER)
    return wrong(f"stream {name}", error.message, error.hint)


async def admission_checks(js: JetStream) -> list[Check]:
    """Check that a service answers hosts, if one has joined with a token."""
    try:
        info = await js.stream_info(f"KV_{INVITATIONS}")
    except LinkError:
        return []  # the check of the stream says why
    if not info["state"]["messages"]:
        return []
    name = "service that admits hosts"
    try:
        await js.connection.request(SUBJECT, seconds=js.seconds)
    except NoAnswerError:
        words = "none answers, so no host can join, and hosts lose their credentials when these expire"
        return [wrong(name, words, "let one run all the time: reactor fleet admit")]
    return [Check(name)]


async def permission_checks(js: JetStream) -> list[Check]:
    """Try the operations of an operator without changes: reads, and writes that are refused for their revision."""
    name = "permissions of the operator"
    problems: dict[str, LinkError] = {}

    async def attempt(subject: str) -> None:
        if (problem := await _problem_of(js, subject)) is not None:
            problems[subject] = problem

    async with trio.open_nursery() as nursery:
        for subject in _TRIED:
            nursery.start_soon(attempt, subject)
    denied = sorted(each for each, problem in problems.items() if isinstance(problem, DeniedError))
    if denied:
        hint = f"restore {OPERATOR_CREDENTIALS} from a backup, or remove it and run reactor fleet init again"
        return [wrong(name, f"denied: {', '.join(denied)}", hint)]
    if problems:
        first = min(problems)
        words = f"not known for {', '.join(sorted(problems))}: {problems[first].message}"
        return [wrong(name, words, _LATER)]
    return [Check(name)]


async def _problem_of(js: JetStream, subject: str) -> LinkError | None:
    """Return why a subject can't be used; None if it can, or if its stream is missing, which another check reports."""
    try:
        if subject == _READ:
            await js.asked(subject)
        else:
            await js.publish(subject, b"", last=_NO_REVISION)
    except (WrongRevisionError, MissingError, NoRespondersError):
        return None
    except LinkError as error:
        return error
    return None
