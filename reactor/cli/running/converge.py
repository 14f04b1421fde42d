"""One ``reactor run``: loads the manifest, builds the services of the run, and converges."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from reactor.cli import exitcodes
from reactor.cli.messages import reporting_manifest_errors
from reactor.cli.options.common import Format
from reactor.cli.options.live_page import live_page_listener
from reactor.cli.options.metrics import MetricsEndpoint, metrics_listener
from reactor.cli.running.companions import RunNotifications
from reactor.cli.running.engine_run import RunServices, converge
from reactor.cli.running.loaded_files import Generation
from reactor.cli.running.reloading import Reloader
from reactor.cli.running.state import (
    State,
    no_state,
    open_state,
    read_only_state,
    refuse_own_state,
    warn_of_state,
)
from reactor.console.display import Display
from reactor.console.run_header import message_record, metrics_record, selection_message
from reactor.engine.options import DEFAULT_JOBS, RunOptions
from reactor.journal.state_directory import PAUSES_FILE, PROOF_FILE, is_ours
from reactor.loading import is_elsewhere, load
from reactor.named_tuple import NamedTuple
from reactor.secrets.reader import RunSecrets

if TYPE_CHECKING:
    from reactor.cli.options.live_page import PageListener
    from reactor.cli.options.network import RunNetwork
    from reactor.cli.running.answering import RunAnswering
    from reactor.cli.running.companions import Companion
    from reactor.cli.running.network import NetworkService
    from reactor.cli.running.signals import Interruption
    from reactor.control.listen_address import Address
    from reactor.engine.events import Ended
    from reactor.engine.slots import SlotGate
    from reactor.graph.graph import Graph
    from reactor.graph.select import Selection
    from reactor.journal.state_directory import Location
    from reactor.loading import LoadedManifest
    from reactor.manifest.inputs import Inputs
    from reactor.manifest.loops import KnownOutputs
    from reactor.manifest.notify_channels import Channel
    from reactor.notify.run_notifications import Notifications
    from reactor.service.reporter import Reporter

    _Load = Callable[[], tuple[LoadedManifest, Selection | None]]

_OF_SERVICE_MANAGER = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
"""The variables that it sets, which commands must not get."""


class ConvergeCommand(NamedTuple):
    """The arguments of ``reactor run``. The settings of the manifest change some of ``options``.

    With ``parameters``, those of the command line, a continuous run answers one-shot runs. ``differs`` says why an active
    run does not do the work of this one. ``is_plain`` says that a proof of this run may do the work of the next one.
    """

    manifests: tuple[str, ...]
    inputs: Callable[[], Inputs]
    only: tuple[str, ...]
    exclude: tuple[str, ...]
    jobs: int | None
    options: RunOptions
    form: Format
    location: Location | None
    bad_usage: int
    secret_reader: RunSecrets
    companions: tuple[Companion, ...] = ()
    network: RunNetwork | None = None
    registration: str | None = None
    slot_gate: SlotGate | None = None
    on_shares: Callable[[Mapping[str, Any]], None] | None = None
    parameters: Mapping[str, Any] | None = None
    differs: str | None = None
    is_plain: bool = False

    def converge(self, endpoint: MetricsEndpoint | None, ui: Address | None) -> tuple[Ended, Interruption]:
        """Run, and show the run. Ends the command if the manifest is invalid, or we can't listen on an address."""
        read_at = time.time_ns()
        known_outputs: KnownOutputs = {}
        with reporting_manifest_errors(as_json=self.form == "json", exit_code=self.bad_usage):
            load_again = partial(self._load, self._loader(), known_outputs)
            program, selection = load_again()
        reporter = _reporter()
        generation = self._generation(program, selection)
        reloader = Reloader(self.manifests, generation, partial(self._reload, reporter, load_again), read_at)
        if self.on_shares is not None:
            self.on_shares(generation.shares)
            reloader.on_new_shares = self.on_shares
        with (
            metrics_listener(endpoint, self.bad_usage) as port,
            live_page_listener(ui, self.bad_usage) as window,
        ):
            services = RunServices(
                reloader,
                metrics_port=port,
                reporter=reporter,
                companions=self.companions + (() if endpoint is None else endpoint.companions()),
                slot_gate=self.slot_gate,
                answering=self._answering(reloader),
            )
            return self._converge(program, generation, services, window)

    def _answering(self, reloader: Reloader) -> RunAnswering | None:
        if self.parameters is None or not self.options.watch:
            return None
        from reactor.cli.running.answering import RunAnswering, StartRecord

        return RunAnswering(StartRecord.of(self.manifests, self.parameters), reloader)

    def _loader(self) -> Callable[[Inputs], LoadedManifest]:
        """Return what loads the manifest. A continuous run loads it again after each edit."""
        if not self.options.watch:
            return partial(self._load_whole, self.manifests)
        if any(map(is_elsewhere, self.manifests)):
            from reactor.cli.running.last_valid import LastValidLoader

            return LastValidLoader(self.manifests, self._load_whole).load
        from reactor.cli.running.incremental_load import IncrementalLoader

        return IncrementalLoader(self.manifests, partial(refuse_own_state, location=self.location)).load

    def _load_whole(self, manifests: Sequence[str], inputs: Inputs) -> LoadedManifest:
        program = load(manifests, inputs)
        refuse_own_state(program.graph.resources.values(), self.location)
        return program

    def _load(
        self, load: Callable[[Inputs], LoadedManifest], known_outputs: KnownOutputs
    ) -> tuple[LoadedManifest, Selection | None]:
        program = load(self._inputs(known_outputs))
        if not (self.only or self.exclude):
            return program, None
        from reactor.graph.select import select

        return program, select(program.graph, self.only, self.exclude)

    def _inputs(self, known_outputs: KnownOutputs) -> Inputs:
        """The inputs, with the network of this run: its values survive reloads."""
        inputs = self.inputs()._replace(secret_reader=self.secret_reader, known_outputs=known_outputs)
        if self.options.watch:
            from reactor.manifest.read_environ import ReadEnviron

            inputs = inputs._replace(environ=ReadEnviron(inputs.environ))
        if (network := self.network) is None:
            return inputs
        network.context = inputs.context
        if network.state is None and self.location is not None:
            path = self.location.path
            network.state = path if is_ours(path) or not os.path.exists(path) else None
        return inputs._replace(network=network)

    def _reload(self, reporter: Reporter | None, load_again: _Load) -> Generation:
        if reporter is not None:
            reporter.loading()
        return self._generation(*load_again())

    def _generation(self, program: LoadedManifest, selection: Selection | None) -> Generation:
        graph = selection.graph if selection else program.graph
        return Generation(
            graph,
            self._with_settings(program),
            program.files,
            program.inputs,
            (*program.warnings, *(selection.warnings if selection else ())),
            selection_message(selection, len(program.graph.resources)) if selection else None,
            program.channels,
            program.shares,
            program.pre_message,
            program.post_message,
            program.rejected,
        )

    def _with_settings(self, program: LoadedManifest) -> RunOptions:
        """The options with the settings of the manifest; ``jobs`` of the command line overrides them."""
        settings = program.settings
        # Monitoring must show all health checks.
        fail_fast = settings.fail_fast and not self.options.monitor_only
        return self.options._replace(jobs=self.jobs or settings.jobs or DEFAULT_JOBS, fail_fast=fail_fast)

    def _converge(
        self,
        program: LoadedManifest,
        generation: Generation,
        services: RunServices,
        window: PageListener | None,
    ) -> tuple[Ended, Interruption]:
        graph, options = generation.graph, generation.options
        display = Display(self.form, resources=len(graph.resources), continuous=options.watch)
        try:
            with self._open_state(program, display) as state:
                _show_header(generation, program.pre_message, display)
                options = options._replace(pending_refreshes=state.pending_refreshes, recorded=state.recorded)
                warn_of_state(state, graph, options, display.warn)
                services = services._replace(
                    network=self._network_service(generation, state, display),
                    directory=state.directory,
                    journal=state.journal,
                    backups=state.backups,
                )
                if options.watch or _has_pauses(state):
                    observe = partial(_with_observers, services, program.path, graph, options)
                    services = observe(state, display, window)
                services = services._replace(
                    notifications=None
                    if options.noop or options.monitor_only
                    else _notifications(program.path, generation, services.reloader, state, display)
                )
                if services.metrics_port:
                    url = services.metrics_port.url
                    display.announce(f"the metrics are at {url}", metrics_record(url))
                ended, interruption = converge(graph, options, display, services)
            display.summarize(ended)
            if program.post_message and exitcodes.is_all_well(ended):
                display.show(program.post_message, message_record(program.post_message))
        finally:
            display.flush()
        if self.is_plain and self.location is not None:
            is_clean = not (interruption.taken or display.has_notified)
            _keep_proof(program, self.manifests, self.location.path, ended if is_clean else None)
        return ended, interruption

    def _network_service(
        self, generation: Generation, state: State, display: Display
    ) -> NetworkService | None:
        """The service that keeps and follows the values of the network, and publishes registrations."""
        network = self.network
        if network is None or not (self.options.watch or network.is_used or self.registration):
            return None
        from reactor.cli.running.network import NetworkService

        if state.path is not None:
            _keep_values(network, display)
        names = (*self.manifests, generation.inputs.site or "")
        return NetworkService(network, names, self.registration)

    def _open_state(self, program: LoadedManifest, display: Display) -> AbstractContextManager[State]:
        if self.options.monitor_only:
            return no_state()
        if self.options.noop:
            return read_only_state(self.location, program.path, display.warn)
        return open_state(self.location, program.path, display.warn, self.bad_usage, self.differs)


def _reporter() -> Reporter | None:
    """The reporter to the service manager, if one has started this process."""
    if not any(name in os.environ for name in _OF_SERVICE_MANAGER):
        return None
    from reactor.service.notify import Notifier
    from reactor.service.reporter import Reporter

    notifier = Notifier.from_environment()
    return None if notifier is None else Reporter(notifier)


def _keep_proof(program: LoadedManifest, manifests: Sequence[str], state: str, ended: Ended | None) -> None:
    """Keep a proof of a run that has ended well and has reported nothing else, so that the next one need not be imported."""
    if ended is not None and not ended.left and exitcodes.is_all_well(ended):
        from reactor.resource.base import Resource

        kinds = {type(each) for each in program.graph.resources.values()}
        if kinds and all(kind.lasting_state is not Resource.lasting_state for kind in kinds):
            from reactor.cli.running.run_evidence import keep_proof

            keep_proof(program, manifests, state, ended)
            return
    if os.path.lexists(os.path.join(state, PROOF_FILE)):
        from reactor.cli.running.proof import remove_proof

        remove_proof(state)


def _keep_values(network: RunNetwork, display: Display) -> None:
    try:
        network.keep()
    except OSError as error:
        display.warn(f"the values of the network can't be kept: {error.strerror}")


def _with_observers(
    services: RunServices,
    manifest: str,
    graph: Graph,
    options: RunOptions,
    state: State,
    display: Display,
    window: PageListener | None,
) -> RunServices:
    """The services, with the control socket, the metrics and the live page if the run has these.

    A one-shot run has no socket: its control only applies the pauses in the state directory. The imports take a while,
    so they are done only here.
    """
    from reactor.control.control import Control
    from reactor.control.status_table import RunFacts
    from reactor.metrics.tally import Tally
    from reactor.resource.registry import watcher_names

    tally = Tally(graph.refs, watcher_names(), time.time())
    tally.gauges += [companion.gauges for companion in services.companions]
    control = page = None
    if state.path is not None or window is not None:
        facts = RunFacts(manifest, os.getpid(), time.time(), noop=options.noop)
        control = Control(state.path, facts, graph.refs, display.warn, tally, listens=options.watch)
        control.answering = services.answering
        control.status_table.journal_refusal = state.journal_refusal
        page = None if window is None else window.open(control, graph, state, display)
    return services._replace(control=control, tally=tally if options.watch else None, page=page)


def _has_pauses(state: State) -> bool:
    return state.path is not None and os.path.exists(os.path.join(state.path, PAUSES_FILE))


def _show_header(generation: Generation, message: str | None, display: Display) -> None:
    for warning in generation.warnings:
        display.warn(warning)
    if message:
        display.show(message, message_record(message))
    if generation.left_out:
        display.show(*generation.left_out)


def _notifications(
    manifest: str, generation: Generation, reloader: Reloader | None, state: State, display: Display
) -> RunNotifications:
    """The sender of notifications. Most manifests declare no channels, and import nothing for them."""
    may_have = generation.graph.may_have if reloader is None else reloader.may_have

    def make(channels: Mapping[str, Channel]) -> Notifications:
        from reactor.notify.run_notifications import Notifications

        is_single = not generation.options.watch
        return Notifications(channels, manifest, may_have, state.path, display.warn, is_single=is_single)

    return RunNotifications(generation.channels, make)
