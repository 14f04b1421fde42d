"""The work of ``reactor fleet follow``: a run of the releases in force, and beside it the link that brings new ones.

The link only writes files: bundles, and the symlinks to the bundles in force. The run watches these files, and knows
nothing of the network. So the run goes on without the link, and a host that boots without network runs the releases in
force.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import trio

from reactor.cli import exitcodes
from reactor.cli.messages import fail_for, notice, warn
from reactor.cli.options.common import Format
from reactor.cli.options.metrics import MetricsEndpoint
from reactor.cli.running.converge import ConvergeCommand
from reactor.cli.running.fleet_journal import JournalEvents
from reactor.cli.running.fleet_manifest import ChannelManifests, declared_facts, require_same_program
from reactor.cli.running.fleet_status import RunStatus
from reactor.cli.running.network import LinkNews, StableResources
from reactor.engine.options import RunOptions
from reactor.errors import ReactorError
from reactor.fleet.debounced_event import jittered
from reactor.fleet.host.config import (
    HostConfig,
    read_config,
    require_private_credentials,
    require_usable_credentials,
)
from reactor.fleet.host.disk import DiskReleases
from reactor.fleet.host.fleet_host import FleetHost
from reactor.fleet.host.join import AGE_KEY, directory_of
from reactor.fleet.host.ports import Host, Pace
from reactor.fleet.host.renewal import Renewal
from reactor.fleet.host.secrets import FOLDER, SecretFollower
from reactor.fleet.host.shares import SharesPublisher
from reactor.fleet.host.slots import FleetSlots
from reactor.fleet.link.changed_options import follow_options
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import IdentityError, LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.link.status import Status
from reactor.fleet.release.document import Release
from reactor.fleet.release.held import HeldReleases
from reactor.fleet.sources.publisher import NatsPublisher
from reactor.journal.state_directory import Location, StateDirectory
from reactor.language.expression import parse_expression
from reactor.metrics.tally import Gauge
from reactor.resource.watch import WatchState
from reactor.secrets.fleet_place import FleetPlace
from reactor.secrets.reader import RunSecrets

if TYPE_CHECKING:
    from reactor.engine.engine import Engine
    from reactor.engine.events import Event
    from reactor.journal.journal import Journal

_PACE = 0.1
"""Seconds between two reads of the status of the run."""
_LOOK = 30.0
"""Seconds between two reads of the configuration while the connection is up."""


class FleetCompanion:
    """Implements `reactor.cli.running.companions.Companion`: the link of a host to its fleet."""

    name = "the link to the fleet"

    def __init__(self, config: HostConfig, manifests: ChannelManifests, place: FleetPlace) -> None:
        self._secrets: SecretFollower | None = None
        if config.card_key is not None:
            self._secrets = SecretFollower(
                config.identity.id, config.card_key, place.directory, lambda: place.used, warn
            )
        self.slots = FleetSlots(config.identity.id, config.identity.groups)
        self.shares = SharesPublisher(config.identity.id, config.identity.groups)
        self._config = config
        self._manifests = manifests
        self._fleet: FleetHost | None = None
        self._js: JetStream | None = None
        self._registrations = NatsPublisher(self._live, "jetstream", None)
        self._stable = StableResources(self._registrations)
        self._status = RunStatus(lambda: manifests.being_loaded, manifests.left_out, manifests.is_target)

    def __call__(self, event: Event) -> None:
        """Handle one event of the run."""
        self._status(event)
        self._stable(event)
        if self._secrets is not None and self._secrets.names_changed():
            self._secrets.trigger.set()

    def gauges(self) -> Iterator[Gauge]:
        """The serial of each release in force, and the events that are not acknowledged."""
        serials: dict[tuple[str, ...], float] = {
            (name,): held.serial for name, held in self._manifests.held.items()
        }
        yield Gauge("reactor_release_serial", "Serial of the release in force.", ("channel",), serials)
        sender = self._fleet.sender if self._fleet is not None else None
        if sender is not None:
            text = "Events of the journal that the fleet has not acknowledged."
            yield Gauge("reactor_journal_unsent", text, (), {(): sender.backlog.unsent})

    async def run(self, engine: Engine, journal: Journal | None) -> None:
        """Follow the channels and report, until cancelled."""
        self._status.attach(engine)
        self._stable.attach(engine)
        connection = Connection(self._config.options, on_problem=_show_problem)
        self._js = JetStream(connection)
        stores = {name: Releases(held, self._manifests) for name, held in self._manifests.held.items()}
        events = JournalEvents(journal, self._manifests.state) if journal is not None else None
        config = self._config
        host = Host(config.identity, stores, self._status, pace=config.pace, events=events)
        fleet = self._fleet = FleetHost(connection, host, warn)
        show = partial(_show_link, LinkNews(), engine)
        with connection.watched(show):
            await self._run(connection, fleet, show)

    async def _run(self, connection: Connection, fleet: FleetHost, show: Callable[[Status], None]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.run)
            nursery.start_soon(fleet.run)
            nursery.start_soon(keep_credentials, self._config, connection)
            nursery.start_soon(follow_options, connection, self._options_now, _LOOK, _tell_config)
            nursery.start_soon(self.slots.run, connection)
            nursery.start_soon(self._registrations.run, warn)
            nursery.start_soon(self.shares.run, JetStream(connection), warn)
            nursery.start_soon(self._manifests.shared.run, JetStream(connection), warn)
            nursery.start_soon(self._pass_on_changes, fleet, show)
            if self._secrets is not None:
                nursery.start_soon(self._secrets.run, connection, self._config.pace)
            if facts := self._config.identity.facts:
                nursery.start_soon(self._follow_facts, facts)

    def _options_now(self) -> Options:
        """The options with the servers and the authority that the configuration names now. Raises ReactorError."""
        options = self._config.options
        found = read_config(options.origin).options
        return replace(options, servers=found.servers, ca=found.ca)

    @asynccontextmanager
    async def _live(self, _warn: Callable[[str], None]) -> AsyncIterator[JetStream]:
        """Yield the connection of this run, for registrations."""
        if self._js is not None:
            yield self._js

    async def _pass_on_changes(self, fleet: FleetHost, show: Callable[[Status], None]) -> None:
        while True:
            await self._status.changed.wait(Pace().look)
            show(fleet.connection.status)  # the end of a certificate comes near while nothing changes
            fleet.engine_changed()
            await trio.sleep(_PACE)

    async def _follow_facts(self, expressions: Mapping[str, str]) -> None:
        """Evaluate the facts of the summary at an interval, since gathering some of them is slow."""
        work = partial(declared_facts, expressions, self._manifests.evaluate)
        while True:
            self._status.set_facts(await trio.to_thread.run_sync(work))
            await trio.sleep(jittered(self._config.pace.look))


class Releases(DiskReleases):
    """The releases on disk. After a switch, the root manifest applies the channel."""

    def __init__(self, held: HeldReleases, manifests: ChannelManifests) -> None:
        super().__init__(held, manifests.validate)
        self._manifests = manifests

    async def require_room(self, size: int) -> None:
        """Raise NotNowError also before a bundle is fetched that this run could not load."""
        require_same_program()
        await super().require_room(size)

    async def switch(
        self, release: Release, data: bytes, signatures: bytes, facts: Mapping[str, Any]
    ) -> None:
        """Let the run apply the channel too, and say what is in force. Raises BundleError, OSError."""
        await super().switch(release, data, signatures, facts)
        await trio.to_thread.run_sync(self._manifests.apply_also, release.channel)
        notice(f"release {release.serial} of {release.channel} is in force: {release.digest}", None)


async def keep_credentials(config: HostConfig, connection: Connection) -> None:
    """Renew the credentials of this host, until cancelled. Needs the card key, which `join` writes."""
    path, name = config.options.credentials, config.identity.id
    if config.card_key is not None and path is not None:
        await Renewal(connection, name, path, config.card_key, card=config.card, on_notice=_show_notice).run()


def _secrets_place(manifests: ChannelManifests, config_path: str) -> FleetPlace:
    """Make the directory of the encrypted secrets. Raises OSError."""
    directory = os.path.join(manifests.store.root, FOLDER)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    return FleetPlace(directory, os.path.join(directory_of(config_path), AGE_KEY))


def _tell_config(error: ReactorError) -> None:
    words = f"{error.place}: {error.message}" if error.place else error.message
    notice(f"the servers stay those of before: {words}", error.hint)


def _show_notice(text: str) -> None:
    notice(text, None)


def _show_link(news: LinkNews, engine: Engine, status: Status) -> None:
    """Let the status of the run show the connection, as it shows watchers."""
    problem = status.certificate_problem(time.time())
    if not status.up:
        news.show(engine, WatchState.DOWN, str(status.why or "the connection was lost"))
    elif problem:
        news.show(engine, WatchState.DEGRADED, problem)
    else:
        news.show(engine, WatchState.ARMED, f"connected to {status.server}")


def follow(
    config_path: str, state: str, form: Format, endpoint: MetricsEndpoint | None, *, check: bool
) -> int:
    """Follow until stopped by a signal, and return the exit code; with ``check``, only read the configuration."""
    from reactor.resource.entry_points import installed_version

    try:
        config = read_config(config_path, installed_version(), parse_expression)
        if check:
            require_usable_credentials(config)
            where, channels = ", ".join(config.options.servers), ", ".join(config.identity.channels)
            click.echo(f"{config.identity.id} follows {channels} on {where}")
            return 0
        StateDirectory.make(state)
        manifests = ChannelManifests(config.identity, state)
        manifests.begin()
        place = _secrets_place(manifests, config_path)
    except ReactorError as error:
        error.message = f"{error.place}: {error.message}" if error.place else error.message
        fail_for(error)
    try:
        require_private_credentials(config)
    except ReactorError as error:
        notice(error.message, error.hint)
    for channel, why in manifests.left_out.items():
        warn(f"the run goes on without the channel {channel}: {why}")
    return _converge(config, manifests, place, form, endpoint)


def _converge(
    config: HostConfig,
    manifests: ChannelManifests,
    place: FleetPlace,
    form: Format,
    endpoint: MetricsEndpoint | None,
) -> int:
    """Run the releases in force until a signal, with the link beside. Return the exit code."""
    companion = FleetCompanion(config, manifests, place)
    asked = ConvergeCommand(
        (manifests.root.path,),
        manifests.inputs,
        (),
        (),
        None,
        RunOptions(watch=True),
        form,
        Location(manifests.state, chosen=True),
        exitcodes.BAD_USAGE,
        RunSecrets(place),
        companions=(companion,),
        slot_gate=companion.slots,
        on_shares=companion.shares.take,
    )
    ended, interruption = asked.converge(endpoint, None)
    if interruption.cut_short:
        return exitcodes.signal_code(interruption.number)
    return exitcodes.run_code(ended, once=False, detailed=False)


def _show_problem(error: LinkError) -> None:
    rejoin = "if this host was expelled or away for long, and its clock is right, let it join again: reactor fleet join"
    notice(error.message, rejoin if isinstance(error, IdentityError) else error.hint)
