"""The work of ``reactor fleet invite``, ``join``, ``admit``, ``expel`` and ``revoke``."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Sequence

import click
import trio

from reactor.cli.messages import fail_for, notice
from reactor.cli.running.fleet_session import run_or_fail, within, within_until_signal
from reactor.errors import ReactorError
from reactor.fleet.documents import NAMES, is_host_id, require_names
from reactor.fleet.enrolment.invitation import Token, TokenError
from reactor.fleet.enrolment.requests import SUBJECT, Received
from reactor.fleet.host.join import host_in
from reactor.fleet.host.join import join as join_with
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import read_small_file
from reactor.fleet.operator import invitations
from reactor.fleet.operator.account_update import Confirmations
from reactor.fleet.operator.admission import LIFE, Admission, Answered
from reactor.fleet.operator.errors import RefusedError
from reactor.fleet.operator.expulsion import expel
from reactor.fleet.operator.keyring import AdmittingKeys
from reactor.fleet.operator.revocation import require_right_clock, revoke_operators
from reactor.fleet.operator.server_config import (
    ADMITTING_CREDENTIALS,
    OPERATOR_CREDENTIALS,
    load_operator_directory,
    renew_users,
)
from reactor.fleet.operator.session import operator_options
from reactor.fleet.release.signers import parse_signers
from reactor.fleet.wire.parser import Message
from reactor.number_format import counted
from reactor.resource.escaping import escaped

_LISTEN = 3.0
"""Seconds within which every waiting host repeats its request."""
_MOST_WAITING = 1000


def make_token(
    home: str,
    channels: Sequence[str],
    groups: Sequence[str],
    *,
    uses: int,
    life: float,
    require: int,
    signers: str,
) -> None:
    """Make a token; print it alone on stdout."""
    try:
        require_names((*channels, *groups))
        keys = load_operator_directory(home).keys
        text = read_small_file(signers, "file of signers", "--signers")
        _require_people(text, signers, require)
        options = operator_options(home)
        ca = read_small_file(options.ca, "CA", home) if options.ca else None
    except ReactorError as error:
        fail_for(error)
    wanted = invitations.TokenOptions(channels, groups, uses, life, require, text)
    token = within(home, lambda js: invitations.invite(js, keys, options, ca, wanted))
    click.echo(token.to_text())
    found = token.invited
    hosts = counted(uses, "host")
    notice(
        f"the token {found.id} is for {hosts}; it is a secret", f"reactor fleet invite --withdraw {found.id}"
    )


def _require_people(text: str, path: str, require: int) -> None:
    people = {each.name for each in parse_signers(text, path)}
    if len(people) < require:
        raise RefusedError(
            f"{path} names {len(people)} people, and {require} must sign", "add the others first"
        )


def withdraw_token(home: str, name: str) -> None:
    """Make a token invalid."""
    if not is_host_id(name) or not within(home, lambda js: invitations.withdraw(js, name)):
        fail_for(RefusedError(f"there is no token {name}", "invite says the id of each token"), 1)
    click.echo(f"no host can join with the token {name} any more")


def join_fleet(text: str, name: str | None, config: str, seconds: float) -> None:
    """Let this host join."""
    try:
        token = Token.from_text(sys.stdin.read(1 << 17) if text == "-" else text)
        before = host_in(config)
        name = name or before or _own_name()
        if not is_host_id(name):
            raise TokenError(f"{name!r} is not a valid name: {NAMES}", "give --name")
    except ReactorError as error:
        fail_for(error)

    def waiting() -> None:
        notice(f"{name} waits to be admitted", f"run on an operator's machine: reactor fleet admit {name}")

    async def joined() -> tuple[str, ...]:
        done = await join_with(token, name, config, facts=_facts(), seconds=seconds, wait=waiting)
        groups = f", groups {', '.join(done.card.groups)}" if done.card.groups else ""
        click.echo(f"joined as {done.card.host}: channels {', '.join(done.card.channels)}{groups}")
        return done.files

    for path in run_or_fail(joined):
        click.echo(f"wrote {path}")
    if before is not None:
        notice("a run of 'reactor fleet follow' that goes on here must be started again", None)


def _own_name() -> str:
    """The name of this host as an id: the part before the first dot."""
    return re.sub(r"[^a-z0-9-]+", "-", socket.gethostname().partition(".")[0].lower()).strip("-")[:63]


def _facts() -> dict[str, str]:
    """The facts that help operators to recognize a host before they admit it by hand."""
    found = os.uname()
    return {"hostname": socket.getfqdn(), "machine": found.machine, "kernel": found.release}


def serve(home: str, life: int) -> None:
    """Answer hosts until stopped."""

    async def answer_all(js: JetStream) -> None:
        admission = _admission(js, home, life)
        with js.connection.messages(SUBJECT, queue="admit", most=_MOST_WAITING) as messages:
            await js.connection.flush()
            notice("answers hosts that ask to join", None)
            async for message in messages:
                await _answer(js, admission, message)

    within_until_signal(home, answer_all, ADMITTING_CREDENTIALS)


def list_waiting(home: str) -> None:
    """Show the hosts that ask to join now. Each repeats its request until it is answered."""

    async def listen(js: JetStream) -> dict[str, str]:
        admission, found = _admission(js, home), dict[str, str]()
        with js.connection.messages(SUBJECT) as messages, trio.move_on_after(_LISTEN):
            async for message in messages:
                if (line := _waiting_line(admission, message.data)) is not None:
                    found[line[0]] = line[1]
        return found

    found = within(home, listen, ADMITTING_CREDENTIALS)
    for host in sorted(found):
        click.echo(f"{host}: {escaped(found[host])}")
    if not found:
        click.echo("no host waits to be admitted")


def _waiting_line(admission: Admission, data: bytes) -> tuple[str, str] | None:
    """A line about a host that asks to join; None if it can't be admitted."""
    try:
        received = Received.opened(data)
        if received.request.kind != "join":
            return None
        invitation = admission.invitation_of(received)
    except ReactorError:
        return None
    request = received.request
    facts = ", ".join(f"{name} {value}" for name, value in request.facts.items())
    return request.host, f"channels {', '.join(invitation.channels)}; {facts}; key {request.key}"


def admit_one(home: str, host: str, life: int) -> None:
    """Admit one host when it asks."""

    async def answered(js: JetStream) -> Answered | None:
        admission = _admission(js, home, life)
        with js.connection.messages(SUBJECT) as messages, trio.move_on_after(_LISTEN):
            async for message in messages:
                if _waiting_line(admission, message.data) and _host_of(message.data) == host:
                    return await _answer(js, admission, message)
        return None

    done = within(home, answered, ADMITTING_CREDENTIALS)
    if done is None:
        hint = "join it there: reactor fleet join TOKEN; see who waits: reactor fleet admit --list"
        fail_for(RefusedError(f"no host {host} asks to join with a token of this fleet", hint), 1)
    if done.refused:
        raise click.exceptions.Exit(1)


def _host_of(data: bytes) -> str:
    return Received.opened(data).request.host


def _admission(js: JetStream, home: str, life: int = LIFE) -> Admission:
    return Admission(js, AdmittingKeys.load(home), life=life)


async def _answer(js: JetStream, admission: Admission, message: Message) -> Answered | None:
    """Answer one message, and print that.

    While the servers can't store anything, it is not answered, and the host repeats it. `doctor` sends an empty one, to
    see whether the service is there.
    """
    if message.reply is None:
        return None
    try:
        if not message.data:
            await js.connection.publish(message.reply)
            return None
        done = await admission.answer(message.data)
        await js.connection.publish(message.reply, done.data)
        await js.connection.flush()
    except LinkError as error:
        notice(f"a host is not answered: {error.message}", error.hint)
        return None
    request = done.request
    subject = request.host if request else "a request"
    if done.refused:
        notice(f"refused {subject}: {done.refused}", None)
    elif request is not None:
        did = "admitted" if request.kind == "join" else "renewed the credentials of"
        click.echo(f"{did} {subject}")
    return done


def expel_host(home: str, host: str, *, rejoins: bool) -> None:
    """Revoke the keys of a host, and delete its data."""
    try:
        files = load_operator_directory(home)
    except ReactorError as error:
        fail_for(error)
    revoked = within(home, lambda js: expel(js, files, host, rejoins=rejoins))
    if revoked is None:
        notice(
            f"no key of {host} is known, so none is revoked: its credentials stay good until they expire",
            None,
        )
    where = f": its keys are revoked on {', '.join(revoked.confirmed)}" if revoked else ""
    click.echo(f"expelled {host}{where}" + ("; it may join again with new keys" if rejoins else ""))
    if revoked is not None:
        _require_all(revoked, host, f"expel {host}")


def revoke_credentials(home: str) -> None:
    """Make new credentials of operators and of the admitting service, and revoke those of before."""
    try:
        files = load_operator_directory(home)
    except ReactorError as error:
        fail_for(error)
    run_or_fail(lambda: require_right_clock(home))
    try:
        names, moment = renew_users(files)
    except ReactorError as error:
        fail_for(error)
    for name in names:
        click.echo(f"wrote {files.path(name)}")
    revoked = run_or_fail(lambda: revoke_operators(files, moment))
    click.echo(f"the credentials of before are revoked on {', '.join(revoked.confirmed)}")
    notice(
        f"only the files in {home} are good now",
        f"copy {OPERATOR_CREDENTIALS} and {ADMITTING_CREDENTIALS} to the machines that need them",
    )
    _require_all(revoked, "who has a copy of those", "doctor")


def _require_all(revoked: Confirmations, holder: str, command: str) -> None:
    """End the command with exit code 1 if a server has not confirmed the revocation."""
    silent = [*revoked.missing, *[f"{revoked.unnamed} more of the cluster"] * bool(revoked.unnamed)]
    if silent:
        notice(
            f"not confirmed by {', '.join(silent)}: there, {holder} may still be connected",
            f"a server takes it when it reaches the others again; to see whether it has: reactor fleet {command}",
        )
        raise click.exceptions.Exit(1)
