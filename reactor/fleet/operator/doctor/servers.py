"""Checks each server: its answer, its version, its clock, and the users that it accepts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import trio

from reactor.errors import ReactorError
from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import LinkError, NoKeysError, NoRespondersError
from reactor.fleet.link.handshake import Session, open_session
from reactor.fleet.link.options import Options
from reactor.fleet.link.servers import parse_server
from reactor.fleet.operator.account_lookup import account_tokens
from reactor.fleet.operator.cluster import is_leaf_node, server_problem, server_state
from reactor.fleet.operator.doctor.check import Check, wrong
from reactor.fleet.operator.doctor.judgements import (
    certificate_check,
    clock_check,
    disk_check,
    health_check,
    payload_check,
    quorum_check,
    version_check,
)
from reactor.fleet.operator.server_config import CONFIG, OperatorDirectory


@dataclass(frozen=True)
class Answer:
    """The result of a first connection. ``identity``: the id of the server, None if there was no connection."""

    url: str
    checks: tuple[Check, ...]
    identity: str | None = None
    stores: bool = True
    """Whether it has JetStream."""


async def first_answer(url: str, options: Options, seconds: float) -> Answer:
    """Connect to the server at ``url`` as the operator, and check its answer."""
    try:
        server = parse_server(url)
    except LinkError as error:
        return Answer(url, (wrong("server", error.message, error.hint),))
    name = f"server {server}"
    try:
        session = await open_session(server, replace(options, servers=(url,)), seconds)
    except NoKeysError as error:
        hint = f"include {options.origin}/{CONFIG} in the configuration of this server, and reload it"
        return Answer(url, (wrong(name, error.message, hint),))
    except ReactorError as error:
        return Answer(url, (wrong(name, error.message, error.hint),))
    try:
        checks = _session_checks(session, name)
    finally:
        with trio.CancelScope(shield=True):
            await trio.aclose_forcefully(session.stream)
    stores = session.info.get("jetstream") is True
    return Answer(url, checks, str(session.info.get("server_id", "")), stores)


def _session_checks(session: Session, name: str) -> tuple[Check, ...]:
    checks = [version_check(name, str(session.info.get("version", "")))]
    if small := payload_check(f"messages of {session.server}", session.info.get("max_payload")):
        checks.append(small)
    if session.certificate_ends is not None:
        checks.append(certificate_check(f"certificate of {session.server}", session.certificate_ends))
    return tuple(checks)


async def reach_check(answer: Answer, operator: Options, system: Options, seconds: float) -> list[Check]:
    """Check that a server without JetStream passes on what operators and hosts ask: others of its cluster have it."""
    name = f"JetStream of {parse_server(answer.url)}"
    if await _is_answered(answer, operator, seconds):
        return [Check(name, "it is off, and another server of the cluster has it")]
    own = replace(system, servers=(answer.url,), fixed_servers=True)
    async with connected(own, seconds=seconds) as connection:
        is_leaf = await is_leaf_node(connection, answer.identity or "", seconds)
    if is_leaf:
        words = (
            "it is a leaf node: nats-server lets it pass on nothing for the streams of the servers behind it"
        )
        hint = "let operators and hosts connect to servers of the cluster, or make this one a server of it, without JetStream"
        return [wrong(name, words, hint)]
    return [wrong(name, "it is off", "turn it on with `jetstream {}` in the configuration of this server")]


async def _is_answered(answer: Answer, operator: Options, seconds: float) -> bool:
    own = replace(operator, servers=(answer.url,), fixed_servers=True)
    async with connected(own, seconds=seconds) as connection:
        try:
            await connection.request(f"{own.api_prefix}.INFO", seconds=seconds)
        except NoRespondersError:
            return False
    return True


async def state_of(answer: Answer, options: Options, seconds: float) -> list[Check]:
    """Ask a server about its clock and its cluster, as the user of the account SYS."""
    name = f"clock of {parse_server(answer.url)}"
    own = replace(options, servers=(answer.url,), fixed_servers=True)
    try:
        async with connected(own, seconds=seconds) as connection:
            state = await server_state(connection, answer.identity, seconds=seconds)
            problem = await server_problem(connection, answer.identity or "", seconds=seconds)
    except ReactorError as error:
        return [wrong(name, f"it can't be read: {error.message}", error.hint)]
    where = parse_server(answer.url)
    found = (
        clock_check(name, state.ahead),
        quorum_check(f"quorum at {where}", state.cluster) if answer.stores else None,
        disk_check(f"room of {where}", state.stored, state.most),
        health_check(f"health of {where}", problem),
    )
    return [each for each in found if each is not None]


async def accounts_checks(
    files: OperatorDirectory, options: Options, seconds: float, init: str
) -> list[Check]:
    """Check that the servers have the accounts that are in the directory. ``init``: the command that corrects it."""
    checks = []
    try:
        async with connected(options, seconds=seconds) as connection:
            for role, key in (("FLEET", files.keys.fleet), ("HOSTS", files.keys.hosts)):
                there = await account_tokens(connection, key.public, files.keys.operator.public)
                checks.append(
                    _account_check(role, there == [files.tokens.get(role)], files.path(CONFIG), init)
                )
    except ReactorError as error:
        checks.append(wrong("accounts", error.message, error.hint))
    return checks


def _account_check(role: str, is_same: bool, config: str, init: str) -> Check:
    name = f"account {role}"
    if is_same:
        return Check(name)
    words = "a server has another version of it than this directory"
    return wrong(name, words, f"{init}; then copy {config} to the servers, for when they start")


async def user_checks(name: str, options: Options, seconds: float) -> list[Check]:
    """Check that the servers accept a user."""
    try:
        async with connected(options, seconds=seconds):
            return [Check(name)]
    except ReactorError as error:
        return [wrong(name, error.message, error.hint)]
