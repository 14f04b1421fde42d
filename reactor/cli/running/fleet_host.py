"""The work of ``reactor fleet follow``: the host follows its channel, and runs the release in force to convergence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import click
import trio

from reactor.cli.messages import fail_for, notice
from reactor.cli.options.inputs import Given, host_facts
from reactor.errors import ReactorError
from reactor.fleet.bundle.errors import BundleError
from reactor.fleet.bundle.pack import MANIFEST
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.host.config import HostConfig, read_config
from reactor.fleet.host.disk import DiskReleases
from reactor.fleet.host.fleet_host import FleetHost
from reactor.fleet.host.ports import Host, Pace
from reactor.fleet.host.renewal import Renewal
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import LinkError
from reactor.fleet.release.document import Release
from reactor.fleet.release.held import HeldReleases
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.summary import EngineReport
from reactor.journal.state_directory import StateDirectory, holder
from reactor.manifest.inputs import Inputs

_AGAIN = 600.0
"""Seconds after which the release in force is run again: without another run, this repairs drift."""
_BUSY = 2.0
"""Seconds until the next try, while another run holds the state directory."""
_MOST_FAILURES = 5


class RunOnce:
    """The run of a real host: `reactor run --converge-once` of the release in force, in a process of its own."""

    def __init__(self, held: HeldReleases, state: str) -> None:
        self.trigger = DebouncedEvent()
        self._held = held
        self._state = state
        self._ended: tuple[str | None, HostPhase] = (None, HostPhase.MOVING)
        self._report = EngineReport()

    def phase_of(self, release: str) -> HostPhase:
        """How the run of this release has ended; MOVING before that."""
        digest, phase = self._ended
        return phase if digest == release else HostPhase.MOVING

    def report(self) -> EngineReport:
        """What the last run said."""
        return self._report

    def is_target(self, expression: str) -> bool:
        """Evaluate an expression with the facts of this host. Raises ReactorError."""
        from reactor.language.expression import parse_expression
        from reactor.manifest.expression_context import ExpressionContext
        from reactor.manifest.source import Source

        source = Source("targets", expression)
        inputs = Inputs(host_facts(Given(None, ())), {}, {}, ())
        context = ExpressionContext.of(source, {}, frozenset(), inputs, strict=True)
        return bool(parse_expression(expression).evaluate(context.scope))

    def validate(self, directory: str, release: Release, facts: dict[str, Any]) -> None:
        """Refuse a bundle whose manifest does not load on this host. Raises BundleError."""
        from reactor.loading import load
        from reactor.resource.diagnostic import ManifestError

        fleet = {**facts, "channel": release.channel, "serial": release.serial, "release": release.digest}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"fleet": fleet}, file)
            file.flush()
            inputs = Inputs(host_facts(Given(file.name, ())), os.environ, {}, (file.name,))
            try:
                load((os.path.join(directory, MANIFEST),), inputs)
            except ManifestError as error:
                first = error.diagnostics[0]
                where = first.place and first.place._replace(
                    file=os.path.relpath(first.place.file, directory)
                )
                words = f"{where}: {first.message}" if where else first.message
                raise BundleError(f"the manifest is not valid on this host: {words}", first.hint) from error

    async def keep_running(self, fleet: FleetHost) -> None:
        """Run what is in force now, after each switch, and from time to time. What the network does is all the same."""
        while True:
            digest = self._held.in_force
            if digest is None:
                await self.trigger.wait(_AGAIN)
            elif holder(self._state) is not None:
                await self.trigger.wait(_BUSY)
            else:
                ended = await self._run()
                self._ended = digest, HostPhase.CONVERGED if ended else HostPhase.FAILED
                notice(f"release {digest[:19]} {'has converged' if ended else 'has failed'}", None)
                fleet.engine_changed()
                if self._held.in_force == digest:
                    await self.trigger.wait(_AGAIN)

    async def _run(self) -> bool:
        """Whether all resources are as desired. The output of the run is the output of this command."""
        manifest = os.path.join(self._held.channel.current_path, MANIFEST)
        words = [
            *(sys.executable, "-m", "reactor", "run", manifest, "--converge-once", "--format", "json"),
            *("--facts", self._held.channel.facts_path, "--state-dir", self._state),
        ]
        done = await trio.run_process(words, capture_stdout=True, check=False, stdin=subprocess.DEVNULL)
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.flush()
        self._report = _report_of(done.stdout.splitlines())
        return done.returncode == 0


def _report_of(lines: Sequence[bytes]) -> EngineReport:
    """The counts and failures that the events of a run tell."""
    counts: dict[str, int] = {}
    worst: list[tuple[str, str]] = []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("event") == "ended":
            counts = event["counts"]
        elif event.get("result") == "failed":
            worst.append((str(event.get("resource")), str(event.get("error"))))
    changed, failed, blocked = (counts.get(name, 0) for name in ("changed", "failed", "blocked"))
    ok = counts.get("ok", 0) + changed
    return EngineReport(ok + failed + blocked, ok, failed, blocked, changed, tuple(worst[:_MOST_FAILURES]))


class _Releases(DiskReleases):
    """The disk, which wakes the run after a switch."""

    def __init__(self, held: HeldReleases, run: RunOnce, groups: Sequence[str]) -> None:
        facts = {"groups": list(groups)}
        super().__init__(held, lambda directory, release: run.validate(directory, release, facts))
        self._run = run

    async def switch(self, release: Release, data: bytes, signatures: bytes, facts: Any) -> None:
        await super().switch(release, data, signatures, facts)
        notice(f"release {release.serial} of {release.channel} is in force: {release.digest}", None)
        self._run.trigger.set()


def follow(config_path: str, state: str, *, check: bool) -> None:
    """Follow until stopped by SIGTERM or SIGINT; with ``check``, only read the configuration."""
    from reactor.resource.entry_points import installed_version

    try:
        config = read_config(config_path, installed_version())
        if check:
            where = ", ".join(config.options.servers)
            click.echo(f"{config.identity.id} follows {config.identity.channels[0]} on {where}")
            return
        StateDirectory.make(state)
    except ReactorError as error:
        error.message = f"{error.place}: {error.message}" if error.place else error.message
        fail_for(error)
    trio.run(_follow, config, state)


def renewal_of(config: HostConfig, connection: Connection) -> Renewal | None:
    """What renews the credentials of this host; None without the key of cards, which `reactor fleet join` brings."""
    credentials = config.options.credentials
    if config.card_key is None or credentials is None:
        return None
    return Renewal(
        connection, config.identity.id, credentials, config.card_key, tell=lambda text: notice(text, None)
    )


async def _follow(config: HostConfig, state: str) -> None:
    identity = config.identity
    held = HeldReleases(BundleStore(state), identity.channels[0])
    run = RunOnce(held, state)
    store = _Releases(held, run, identity.groups)
    connection = Connection(config.options, tell=_tell)
    fleet = FleetHost(connection, Host(identity, {identity.channels[0]: store}, run, pace=Pace()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run)
        nursery.start_soon(fleet.run)
        if (renewal := renewal_of(config, connection)) is not None:
            nursery.start_soon(renewal.run)
        nursery.start_soon(run.keep_running, fleet)
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                nursery.cancel_scope.cancel()
                return


def _tell(error: LinkError) -> None:
    notice(error.message, error.hint)
