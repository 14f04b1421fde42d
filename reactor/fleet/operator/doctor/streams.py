"""The streams as they are, and whether the operator may write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from reactor.errors import ReactorError
from reactor.fleet.bucket_names import BUNDLES, CHANNELS, COUNTS, DRIVE, HOSTS, INVITATIONS, SECRETS
from reactor.fleet.link.errors import DeniedError, LinkError, MissingError, NoAnswerError, WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.doctor.check import Check, wrong
from reactor.fleet.operator.doctor.judgements import copies_check, stream_check
from reactor.fleet.operator.streams import wanted_streams

_NO_REVISION = 1 << 62
"""A write that expects this revision of its subject is refused, so that it changes nothing."""
_TRIED = (
    *(f"$KV.{bucket}.doctor" for bucket in (CHANNELS, HOSTS, DRIVE, SECRETS, COUNTS, INVITATIONS)),
    f"$O.{BUNDLES}.M.doctor",
    f"$O.{BUNDLES}.C.doctor",
)


async def streams_checks(js: JetStream, servers: int, init: str) -> list[Check]:
    """Compare the streams with those that ``init`` makes. ``servers``: the size of the cluster."""
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
        return [wrong("streams", first.message, first.hint or "see the checks of servers and quorum")]
    checks = [
        stream_check(name, infos[name], init) if name in infos else _missing(name, failed[name], init)
        for name in wanted
    ]
    return [*checks, copies_check(infos, servers, init)] if infos else checks


def _missing(name: str, error: ReactorError, init: str) -> Check:
    is_missing = isinstance(error, MissingError)
    return wrong(f"stream {name}", error.message, init if is_missing else error.hint)


async def permission_checks(js: JetStream) -> list[Check]:
    """Try what an operator does, without changing anything: reads, and writes that are refused for their revision."""
    denied: list[str] = []

    async def attempt(subject: str) -> None:
        try:
            await js.publish(subject, b"", last=_NO_REVISION)
        except DeniedError:
            denied.append(subject)
        except (WrongRevisionError, MissingError, NoAnswerError):
            return  # it may write; a stream that is missing or silent has a check of its own
        except LinkError as error:
            denied.append(f"{subject} ({error.message})")

    async with trio.open_nursery() as nursery:
        for subject in _TRIED:
            nursery.start_soon(attempt, subject)
    try:
        await js.key_value(CHANNELS).get("doctor")
    except DeniedError:
        denied.append(f"reading {CHANNELS}")
    except LinkError:
        pass
    name = "permissions of the operator"
    if denied:
        hint = "operator.creds is not of the account FLEET as init makes it: restore it from a backup"
        return [wrong(name, f"denied: {', '.join(sorted(denied))}", hint)]
    return [Check(name)]
