"""The work of ``reactor fleet``: one connection for each command, results as text or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import partial

import click
import trio

from reactor.cli import exitcodes
from reactor.cli.messages import fail_for, notice
from reactor.cli.options.common import Format
from reactor.cli.running.fleet_session import author, print_change, within, within_until_signal
from reactor.errors import ReactorError
from reactor.fleet.link.errors import ContextError, IdentityError, UnreachableError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.servers import Pool
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.cluster import usual_copies
from reactor.fleet.operator.drive import Driver
from reactor.fleet.operator.hosts import admit_by_hand, change_host_spec, freed, held
from reactor.fleet.operator.keyring import KeyringError, save_credentials
from reactor.fleet.operator.revocation import agree_on_accounts
from reactor.fleet.operator.server_config import (
    CONFIG,
    OperatorDirectory,
    load_operator_directory,
    make_operator_directory,
)
from reactor.fleet.operator.session import (
    AUTHORITY,
    SERVERS,
    copy_authority,
    operator_session,
    save_servers,
)
from reactor.fleet.operator.streams import lets_ccm_publish, make_streams, wanted_streams
from reactor.fleet.rollout import commands
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.resource.escaping import escaped

_COMMANDS: dict[str, Callable[[ChannelState, commands.Author], ChannelState]] = {
    "pause": commands.pause,
    "resume": commands.resume,
    "halt": commands.halt,
    "advance": commands.advance,
    "approve": commands.approve,
    "rollback": commands.rollback,
}


def initialize(
    home: str,
    servers: Sequence[str],
    ca: str | None,
    replicas: int | None,
    ccm_publishers: bool | None,
    *,
    life: float | None,
) -> int:
    """Make the accounts and the streams. Returns the exit code."""
    try:
        Pool(servers)
        files = make_operator_directory(home, life)
        written = [AUTHORITY] if ca and copy_authority(home, ca) else []
        written += [SERVERS] if save_servers(home, servers, AUTHORITY if ca else None) else []
    except (KeyringError, ContextError) as error:
        fail_for(error)
    for name in (*files.changed, *written):
        click.echo(f"wrote {files.path(name)}")
    try:
        changes = trio.run(_make_streams, home, replicas, ccm_publishers)
        changes += trio.run(_agree, files)
    except (IdentityError, UnreachableError) as error:
        hint = f"include {files.path(CONFIG)} in the configuration of each nats-server, start it, and run this again"
        is_older = isinstance(error, IdentityError) and CONFIG not in files.changed
        fail_for(error, 1, hint=error.hint if is_older else hint)
    except ReactorError as error:
        fail_for(error, 1)
    for line in changes:
        click.echo(line)
    if not changes and not files.changed and not written:
        click.echo("all is as it should be")
    if ccm_publishers:
        notice("with --ccm-publishers, any host that registers can wipe the registry", None)
    return 0


async def _make_streams(home: str, replicas: int | None, ccm_publishers: bool | None) -> list[str]:
    """Make or change the streams of the fleet. Return the changes, in words."""
    async with operator_session(home) as js:
        copies = replicas or await usual_copies(js, home)
        ccm = await lets_ccm_publish(js) if ccm_publishers is None else ccm_publishers
        changes = await make_streams(js, wanted_streams(copies, ccm_publishers=ccm))
    return [
        f"made the stream {each.stream}"
        if each.made
        else f"changed {', '.join(each.fields)} of {each.stream}"
        for each in changes
    ]


async def _agree(files: OperatorDirectory) -> list[str]:
    """Let the servers and the directory have the same accounts. Return the changes, in words."""
    agreed, taken = await agree_on_accounts(files)
    changes = [f"wrote {files.path(CONFIG)}"] if agreed.tokens != files.tokens else []
    for account, servers in taken.items():
        changes.append(f"gave the account {account} to {', '.join(servers.confirmed)}")
        if servers.missing or servers.unnamed:
            silent = ", ".join(servers.missing) or "servers whose names nobody knows"
            notice(f"the account {account} is not confirmed by {silent}", "run this again when they answer")
    return changes


def admit_host(
    home: str,
    host: str,
    channels: Sequence[str],
    groups: Sequence[str],
    output: str,
    *,
    life: int,
    form: Format,
) -> None:
    """Admit a host by hand, with credentials for ``life`` seconds."""
    path = os.path.abspath(output)
    if os.path.isdir(path) or not os.access(os.path.dirname(path), os.W_OK):
        words = f"the host is not admitted: its credentials could not be written to {path}"
        hint = "name a file in a directory that is there, and that you may write to"
        fail_for(KeyringError(words, hint))
    try:
        keys = load_operator_directory(home).keys
    except KeyringError as error:
        fail_for(error)
    credentials = within(home, lambda js: admit_by_hand(js, keys, host, channels, groups, life=life))
    save_credentials(path, credentials)
    print_change(
        form, {"admitted": host, "credentials": output}, f"admitted {host}; its credentials are in {output}"
    )


def drive_channels(home: str, channels: Sequence[str], *, until_ended: bool) -> int:
    """Drive until stopped, or until nothing moves. Returns the exit code."""
    ended: list[bool] = []

    def show(state: ChannelState, why: str) -> None:
        words = escaped(why or f"by {state.by}")
        click.echo(f"{state.channel}: release {state.serial} {state.phase} {state.wave / 100:g} %: {words}")

    async def all_of_them(js: JetStream) -> None:
        async def one(channel: str) -> None:
            begun, _ = await Channels(js).read(channel)
            if begun is None and until_ended:
                raise commands.no_release(channel)
            if begun is None:
                notice(f"{channel} has no release yet", None)
            driver = Driver(
                js, channel, author(), on_state=show, on_trouble=partial(_wait_for_servers, channel)
            )
            found = await driver.run(until_ended=until_ended)
            ended.extend([_went_well(begun, found)] if found else [])

        async with trio.open_nursery() as nursery:
            for channel in channels:
                nursery.start_soon(one, channel)

    number = within_until_signal(home, all_of_them)
    if number and until_ended:
        return exitcodes.signal_code(number)
    return 0 if all(ended) else 1


def _wait_for_servers(channel: str, error: ReactorError) -> None:
    notice(f"{channel}: it stands still and tries again: {error.message}", error.hint)


def _went_well(begun: ChannelState | None, ended: ChannelState) -> bool:
    """Whether what was going on has ended: a release is done, or the hosts are back if that was the aim already."""
    if begun is not None and begun.phase in (Phase.REVERTING, Phase.REVERTED):
        return ended.phase is Phase.REVERTED
    return ended.phase is Phase.DONE


def act_on(home: str, channel: str, name: str, why: str, form: Format) -> None:
    """Change a rollout, in the name of the user at this machine."""
    state = within(home, lambda js: Channels(js).act(channel, _COMMANDS[name], author(), why))
    if form == "json":
        click.echo(json.dumps(state.to_fields()))
    else:
        click.echo(f"{channel}: release {state.serial} is {state.phase}, wave {state.wave / 100:g} %")


def hold_host(home: str, host: str, why: str, form: Format) -> None:
    """Keep a host at its release."""
    within(home, lambda js: change_host_spec(js, host, lambda spec: held(spec, None, why)))
    print_change(form, {"host": host, "hold": True, "why": why}, f"{host} is held at its release")


def free_host(home: str, host: str, form: Format) -> None:
    """Let a host follow its channels again."""
    within(home, lambda js: change_host_spec(js, host, freed))
    print_change(form, {"host": host, "hold": False, "pins": []}, f"{host} follows its channels")
