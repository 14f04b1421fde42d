"""One ``reactor run`` as it was asked for: loads the manifest, puts together what accompanies the engine, converges."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from reactor.cli import exitcodes
from reactor.cli.engine_run import RunServices, converge
from reactor.cli.formats import Format
from reactor.cli.live_page_option import page_window
from reactor.cli.manifests import rejecting
from reactor.cli.metrics import Exposure, listening
from reactor.cli.reloading import Generation, Reloader
from reactor.cli.state import State, opened, refuse_managed, remembered, stateless
from reactor.console.display import Display
from reactor.console.open_problems import name_some
from reactor.console.run_header import message_record, metrics_record, selection_record, selection_text
from reactor.engine.options import DEFAULT_JOBS, RunOptions
from reactor.graph.graph import REFRESHING
from reactor.journal.state_directory import PAUSES_FILE
from reactor.loading import load
from reactor.service.notify import Notifier
from reactor.service.reporter import Reporter

if TYPE_CHECKING:
    from reactor.cli.live_page_option import Window
    from reactor.cli.signals import Interruption
    from reactor.control.address import Address
    from reactor.engine.events import Ended
    from reactor.graph.graph import Graph
    from reactor.graph.select import Selection
    from reactor.journal.state_directory import Location
    from reactor.loading import LoadedManifest
    from reactor.manifest.inputs import Inputs


class ConvergeCommand(NamedTuple):
    """What was asked for. ``options`` are those of the command line: the manifest has a say in some of them."""

    manifests: tuple[str, ...]
    inputs: Callable[[], Inputs]
    only: tuple[str, ...]
    exclude: tuple[str, ...]
    jobs: int | None
    options: RunOptions
    form: Format
    location: Location | None
    bad_usage: int

    def converge(self, exposure: Exposure | None, ui: Address | None) -> tuple[Ended, Interruption]:
        """Do it, and show it. Ends the command when the manifest, or where it is to be seen, is of no use."""
        read_at = time.time_ns()
        with rejecting(as_json=self.form == "json", exit_code=self.bad_usage):
            program, selection = self._load()
        notifier = Notifier.from_environment()
        reporter = None if notifier is None else Reporter(notifier)
        generation = self._generation(program, selection)
        reloader = Reloader(self.manifests, generation, partial(self._anew, reporter), read_at)
        with listening(exposure, self.bad_usage) as port, page_window(ui, self.bad_usage) as window:
            services = RunServices(reloader, metrics_port=port, reporter=reporter)
            return self._converge(program, generation, services, window)

    def _load(self) -> tuple[LoadedManifest, Selection | None]:
        program = load(self.manifests, self.inputs())
        refuse_managed(program.graph.resources.values(), self.location)
        if not (self.only or self.exclude):
            return program, None
        from reactor.graph.select import select

        return program, select(program.graph, self.only, self.exclude)

    def _anew(self, reporter: Reporter | None) -> Generation:
        if reporter is not None:
            reporter.loading()
        return self._generation(*self._load())

    def _generation(self, program: LoadedManifest, selection: Selection | None) -> Generation:
        graph = selection.graph if selection else program.graph
        left_out = _left_out(program, selection)
        return Generation(
            graph, self._paced(program), program.files, program.inputs, program.warnings, left_out
        )

    def _paced(self, program: LoadedManifest) -> RunOptions:
        """The options with what the settings of the manifest say; ``jobs`` of the command line goes before."""
        settings = program.settings
        # Who only looks wants to see everything.
        fail_fast = settings.fail_fast and not self.options.monitor_only
        return self.options._replace(jobs=self.jobs or settings.jobs or DEFAULT_JOBS, fail_fast=fail_fast)

    def _converge(
        self, program: LoadedManifest, generation: Generation, services: RunServices, window: Window | None
    ) -> tuple[Ended, Interruption]:
        graph, options = generation.graph, generation.options
        display = Display(self.form, resources=len(graph.resources), continuous=options.watch)
        try:
            with self._remembering(program, display) as state:
                _introduce(generation, program.pre_message, display)
                options = options._replace(owing=state.owing, recorded=state.recorded)
                if not state.complete:
                    _name_those_at_stake(graph, display)
                services = services._replace(
                    directory=state.directory, journal=state.journal, backups=state.backups
                )
                if options.watch or _has_pauses(state):
                    from reactor.cli.observers import observers_of

                    control, tally, page = observers_of(program.path, graph, options, state, display, window)
                    services = services._replace(control=control, tally=tally, page=page)
                if services.metrics_port:
                    url = services.metrics_port.url
                    display.announce(f"the metrics are at {url}", metrics_record(url))
                ended, interruption = converge(graph, options, display, services)
            display.summarize(ended)
            if program.post_message and exitcodes.is_all_well(ended):
                display.say(program.post_message, message_record(program.post_message))
        finally:
            display.flush()
        return ended, interruption

    def _remembering(self, program: LoadedManifest, display: Display) -> AbstractContextManager[State]:
        if self.options.monitor_only:
            return stateless()
        if self.options.noop:
            return remembered(self.location, display.warn)
        return opened(self.location, program.path, display.warn, self.bad_usage)


def _has_pauses(state: State) -> bool:
    return state.path is not None and os.path.exists(os.path.join(state.path, PAUSES_FILE))


def _introduce(generation: Generation, message: str | None, display: Display) -> None:
    for warning in generation.warnings:
        display.warn(warning)
    if message:
        display.say(message, message_record(message))
    if generation.left_out:
        display.say(*generation.left_out)


def _name_those_at_stake(graph: Graph, display: Display) -> None:
    """What earlier runs owed is lost: say who may have had to be refreshed, for nobody else knows."""
    told = {edge.second for edge in graph.edges if edge.kind in REFRESHING}
    at_stake = sorted(ref for ref in told if not graph.resources[ref].declared.members)
    if at_stake:
        display.warn(
            f"a refresh that an earlier run owed to {name_some(at_stake)} may be lost with the journal: "
            "see whether they run with what they subscribe to"
        )


def _left_out(program: LoadedManifest, selection: Selection | None) -> tuple[str, dict[str, Any]] | None:
    """What is left aside of the manifest, if anything, for people and for programs."""
    if selection is None:
        return None
    total = len(program.graph.resources)
    return selection_text(selection, total), selection_record(selection, total)
