"""The work of ``reactor fleet``: one connection for each command, results as text or JSON."""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import click
import trio

from reactor.cli import exitcodes
from reactor.cli.messages import fail_for, notice, reporting_manifest_errors
from reactor.cli.options.formats import Format
from reactor.errors import ReactorError
from reactor.fleet.bundle.pack import MANIFEST, Bundle, pack
from reactor.fleet.link.errors import IdentityError, UnreachableError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.drive import Driver
from reactor.fleet.operator.hosts import admit_by_hand, change_host_spec, freed, held
from reactor.fleet.operator.keyring import KeyringError, save_credentials
from reactor.fleet.operator.overview import Overview, overviews
from reactor.fleet.operator.releasing import Wish, begin_release, next_release, waves_of
from reactor.fleet.operator.server_config import CONFIG, load_operator_directory, make_operator_directory
from reactor.fleet.operator.session import operator_session, save_servers
from reactor.fleet.operator.streams import make_streams, wanted_streams
from reactor.fleet.release.signing import sign
from reactor.fleet.release.verify import RELEASE
from reactor.fleet.rollout import acts
from reactor.fleet.rollout.gate import Gate, Share
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.trust.inputs import open_input

_T = TypeVar("_T")
_WELL = frozenset(("converged", "excluded"))
_ACTS: dict[str, Callable[[ChannelState, acts.Author], ChannelState]] = {
    "pause": acts.pause,
    "resume": acts.resume,
    "halt": acts.halt,
    "advance": acts.advance,
    "rollback": acts.rollback,
}


def author() -> str:
    """The person at this machine, for others to see."""
    return f"{os.environ.get('SUDO_USER') or getpass.getuser()}@{socket.gethostname()}"


def _within(home: str, work: Callable[[JetStream], Awaitable[_T]]) -> _T:
    """Do ``work`` with a connection. An error ends the command with exit code 1."""

    async def connected() -> _T:
        async with operator_session(home) as js:
            return await work(js)

    try:
        return trio.run(connected)
    except ReactorError as error:
        fail_for(error, 1)
    except BaseExceptionGroup as group:
        errors, rest = group.split(ReactorError)
        if errors is None or rest is not None:
            raise
        fail_for(_first(errors), 1)


def _first(group: BaseExceptionGroup[ReactorError]) -> ReactorError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ReactorError)  # noqa: S101 - the group was split by it
    return error


def initialize(home: str, servers: Sequence[str], ca: str | None, replicas: int, ccm_publishers: bool) -> int:
    """Make the accounts and the streams. Returns the exit code."""
    try:
        files = make_operator_directory(home)
        is_new = save_servers(home, servers, os.path.abspath(ca) if ca else None)
    except KeyringError as error:
        fail_for(error)
    for name in (*files.changed, *(["servers.json"] if is_new else [])):
        click.echo(f"wrote {files.path(name)}")

    async def streams() -> list[str]:
        async with operator_session(home) as js:
            changes = await make_streams(js, wanted_streams(replicas, ccm_publishers=ccm_publishers))
        return [
            f"made the stream {each.stream}"
            if each.made
            else f"changed {', '.join(each.fields)} of {each.stream}"
            for each in changes
        ]

    try:
        changes = trio.run(streams)
    except (IdentityError, UnreachableError) as error:
        hint = f"include {files.path(CONFIG)} in the configuration of each nats-server, start it, and run this again"
        fail_for(error, 1, hint=hint)
    except ReactorError as error:
        fail_for(error, 1)
    for line in changes:
        click.echo(line)
    if not changes and not files.changed and not is_new:
        click.echo("all is as it should be")
    if ccm_publishers:
        notice("with --ccm-publishers, any host that registers can wipe the registry", None)
    return 0


def admit_host(home: str, host: str, channels: Sequence[str], groups: Sequence[str], output: str) -> None:
    """Admit a host by hand."""
    try:
        keys = load_operator_directory(home).keys
    except KeyringError as error:
        fail_for(error)
    credentials = _within(home, lambda js: admit_by_hand(js, keys, host, channels, groups))
    save_credentials(os.path.abspath(output), credentials)
    click.echo(f"admitted {host}; its credentials are in {output}")


def begin(home: str, directory: str, channel: str, **wishes: Any) -> int:
    """Pack, sign, publish and begin. Returns the exit code."""
    try:
        gate = Gate(soak=wishes["soak"], max_failed=Share(wishes["max_failed"]), window=wishes["window"])
        bundle = _packed(directory)
    except ReactorError as error:
        fail_for(error)
    wish = Wish(channel, author(), wishes["waves"], gate, wishes["note"], wishes["targets"])
    if wishes["dry_run"]:
        for line in _within(home, lambda js: _foreseen(js, wish, bundle)):
            click.echo(line)
        return 0
    key = os.path.expanduser(wishes["key"])
    release, state = _within(
        home, lambda js: begin_release(js, wish, bundle, lambda data: sign(data, key, RELEASE))
    )
    click.echo(
        f"release {release.serial} of {channel} begins with wave {state.wave / 100:g} %: {release.digest}"
    )
    return drive_channels(home, (channel,), until_ended=True) if wishes["wait"] else 0


def _packed(directory: str) -> Bundle:
    """The directory as a bundle, if its manifest is valid here."""
    from reactor.cli.options.inputs import Given, host_facts
    from reactor.loading import load
    from reactor.manifest.inputs import Inputs

    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE):
        load((os.path.join(directory, MANIFEST),), Inputs(host_facts(Given(None, ())), os.environ, {}, ()))
    return pack(directory, opener=open_input)


async def _foreseen(js: JetStream, wish: Wish, bundle: Bundle) -> list[str]:
    release = await next_release(js, wish, bundle)
    waves, ranks = await waves_of(js, wish, release.serial)
    lines = [f"release {release.serial} of {wish.channel}: {bundle.digest}, {len(bundle.data)} bytes"]
    before = 0
    for wave in waves:
        names = sorted(name for name, rank in ranks.items() if before <= rank < wave)
        lines.append(f"wave {wave / 100:g} %: {', '.join(names) or 'no further host'}")
        before = wave
    return lines


def drive_channels(home: str, channels: Sequence[str], *, until_ended: bool) -> int:
    """Drive until stopped, or until nothing moves. Returns the exit code."""

    def tell(state: ChannelState, why: str) -> None:
        click.echo(f"{state.channel}: release {state.serial} {state.phase} {state.wave / 100:g} %: {why}")

    async def all_of_them(js: JetStream) -> list[ChannelState]:
        ended: list[ChannelState] = []

        async def one(channel: str) -> None:
            found = await Driver(js, channel, author(), tell=tell).run(until_ended=until_ended)
            ended.extend([found] if found else [])

        async with trio.open_nursery() as nursery:
            for channel in channels:
                nursery.start_soon(one, channel)
        return ended

    try:
        ended = _within(home, all_of_them)
    except KeyboardInterrupt:
        return 0
    return 0 if all(state.phase is Phase.DONE for state in ended) else 1


def show_status(home: str, channel: str | None, form: Format) -> None:
    """Show all channels with the hosts that are not well, or one with all hosts."""
    found = _within(home, lambda js: overviews(js, channel))
    if channel and not found:
        fail_for(acts.RolloutError(f"the channel {channel} has no release", "see reactor fleet status"), 1)
    if form == "text" and not found:
        click.echo("no channel has a release")
    for each in found:
        if form == "json":
            click.echo(json.dumps(each.to_fields()))
        else:
            _show(each, everything=channel is not None)


def _show(overview: Overview, *, everything: bool) -> None:
    click.echo(overview.headline())
    if overview.state.why:
        click.echo(f"  {overview.state.why} ({overview.state.by})")
    for host in overview.hosts:
        if everything or host.phase not in _WELL:
            place = "in the wave" if host.in_wave else "not in the wave"
            click.echo(
                f"  {host.host}: {host.phase}, rank {host.rank}, {place}"
                + (f": {host.why}" if host.why else "")
            )


def act_on(home: str, channel: str, name: str, why: str, form: Format) -> None:
    """Let the person at this machine act on a rollout."""
    state = _within(home, lambda js: Channels(js).act(channel, _ACTS[name], author(), why))
    if form == "json":
        click.echo(json.dumps(state.to_fields()))
    else:
        click.echo(f"{channel}: release {state.serial} is {state.phase}, wave {state.wave / 100:g} %")


def hold_host(home: str, host: str, why: str) -> None:
    """Keep a host at its release."""
    _within(home, lambda js: change_host_spec(js, host, lambda spec: held(spec, None, why)))
    click.echo(f"{host} is held at its release")


def free_host(home: str, host: str) -> None:
    """Let a host follow its channels again."""
    _within(home, lambda js: change_host_spec(js, host, freed))
    click.echo(f"{host} follows its channels")
