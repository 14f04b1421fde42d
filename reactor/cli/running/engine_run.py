"""Runs the engine with its services: with a display, without one, or as a dry run that returns the states."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from reactor.backup.store import Store
from reactor.cli import exitcodes
from reactor.cli.messages import fail
from reactor.cli.running.companions import RunNotifications
from reactor.cli.running.reloading import Reloader
from reactor.cli.running.signals import Interruption
from reactor.console.display import Display
from reactor.engine.engine import Engine
from reactor.engine.events import Blocked, Checked, Ended, Event, Result, Skipped
from reactor.engine.options import RunOptions
from reactor.graph.graph import Graph
from reactor.journal.journal import Journal
from reactor.journal.records import lean
from reactor.journal.state_directory import StateDirectory
from reactor.named_tuple import NamedTuple
from reactor.resource.backup_store import backup_store
from reactor.resource.redaction import redacted

if TYPE_CHECKING:  # many runs use none of these
    from reactor.cli.running.answering import RunAnswering
    from reactor.cli.running.companions import Companion
    from reactor.cli.running.network import NetworkService
    from reactor.control.control import Control
    from reactor.control.tcp_listener import MetricsPort
    from reactor.engine.slots import SlotGate
    from reactor.metrics.tally import Tally
    from reactor.service.reporter import Reporter
    from reactor.ui.live_page import LivePage

_TURN = 0.0001
"""Seconds for which a thread of a continuous run keeps the lock of Python's interpreter while another waits for it.

A repair takes turns with threads many times, and each turn of another thread would last the usual 5 ms.
"""


class RunServices(NamedTuple):
    """The services of a run besides its display. A service that the run does not have is None.

    - ``reloader`` reloads the manifest when it changes;
    - ``directory`` is the state directory, with the ``journal`` (pending refreshes, history) and the ``backups`` of files;
    - ``control`` serves the status and applies pauses; ``answering`` makes full checks for one-shot runs;
    - ``tally`` counts events, and ``metrics_port`` serves the counts; ``page`` is the live page;
    - ``reporter`` notifies the service manager;
    - ``notifications`` are those that the manifest declares;
    - ``network`` follows values and publishes registrations;
    - ``companions`` are further tasks, which may fail;
    - ``slot_gate`` admits resources with a slot.
    """

    reloader: Reloader | None = None
    directory: StateDirectory | None = None
    journal: Journal | None = None
    backups: Store | None = None
    control: Control | None = None
    answering: RunAnswering | None = None
    tally: Tally | None = None
    metrics_port: MetricsPort | None = None
    page: LivePage | None = None
    reporter: Reporter | None = None
    notifications: RunNotifications | None = None
    network: NetworkService | None = None
    companions: tuple[Companion, ...] = ()
    slot_gate: SlotGate | None = None


def converge(
    graph: Graph, options: RunOptions, display: Display, services: RunServices
) -> tuple[Ended, Interruption]:
    """Run the engine until it ends, and show its events on ``display``. Ends the command where there is no /proc."""
    if not os.path.isdir("/proc/self/fd"):  # nothing below could tell which file a descriptor leads to
        words = "/proc is not mounted, and without it no file can be changed safely"
        fail("R0704", words, "mount it: mount -t proc proc /proc", exitcodes.NOT_CONVERGED)
    if options.watch:
        from reactor.cli.running.heap import share_heap

        share_heap()
        sys.setswitchinterval(_TURN)
    sinks = _Sinks(display, services, diffs=options.diff)
    if services.page or services.journal:
        options = options._replace(diff=True)
    if options.noop and not options.watch:
        from reactor.cli.running.foresight import MissingPrograms

        sinks.observe(MissingPrograms(graph, display.warn))
    engine = sinks.engine = Engine(
        graph, options, sinks, run_store=services.journal, slot_gate=services.slot_gate
    )
    if services.answering and (control := services.control):
        services.answering.attach(engine, lambda: control.pause_controller)
    reloader = services.reloader
    interruption = Interruption(
        engine, display.notify, reload=reloader.request if reloader and options.watch else None
    )
    if reloader:
        reloader.attach(engine, display)
        reloader.on_new_channels = services.notifications.renew if services.notifications else None
        reloader.on_new_graph = services.page.drawing.adopt if services.page else None
    return trio.run(_run_with_services, engine, interruption, display, services), interruption


class _Sinks:
    """Passes the events of a run to its sinks. Without ``diffs``, only the page, the journal and full checks get diffs.

    An observer that raises is removed with a warning: a bug there must not end the run.
    """

    engine: Engine

    def __init__(self, display: Display, services: RunServices, *, diffs: bool) -> None:
        self._display = display
        self._journal = services.journal
        self._with_diffs = (services.page, services.answering)
        self._diffs = diffs
        observers = (
            services.page,
            services.answering,
            services.control,
            services.tally,
            services.reporter,
            services.notifications,
            services.network,
            *services.companions,
        )
        self._observers: list[Callable[[Event], None]] = [sink for sink in observers if sink is not None]

    def __call__(self, event: Event) -> None:
        whole = redacted(event)
        event = whole if self._diffs else lean(whole)
        self._display(event)
        if self._journal:
            self._journal.record(whole)
        for sink in self._observers:
            try:
                sink(whole if sink in self._with_diffs else event)
            except Exception as error:  # noqa: BLE001 - a bug in an observer must not stop repairs
                self._remove(sink, error)

    def observe(self, sink: Callable[[Event], None]) -> None:
        """Let ``sink`` have the events, too."""
        self._observers.append(sink)

    def _remove(self, sink: Callable[[Event], None], error: Exception) -> None:
        self._observers = [each for each in self._observers if each is not sink]
        self._display.warn(
            f"the {type(sink).__name__} of this run failed and gets no more events: "
            f"{type(error).__name__}: {error}; this is a bug in reactor, please report it"
        )


def run_silently(
    graph: Graph,
    options: RunOptions,
    note: Callable[[Event], None],
    notify: Callable[[str], None],
    backups: Store | None = None,
) -> tuple[Ended, Interruption]:
    """Run the engine until it ends, without a display. ``note`` is called with each event."""
    engine = Engine(graph, options, lambda event: note(redacted(event)))
    interruption = Interruption(engine, notify)
    return trio.run(
        _run_with_services, engine, interruption, None, RunServices(backups=backups)
    ), interruption


def check_states(graph: Graph, notify: Callable[[str], None]) -> tuple[dict[str, str], Interruption]:
    """Check every resource in a dry run; return the state of each by ref."""
    states: dict[str, str] = {}

    def note(event: Event) -> None:
        match event:
            case Checked():
                states[event.ref] = event.result
            case Blocked():
                states[event.ref] = Result.BLOCKED
            case Skipped():
                states[event.ref] = Result.SKIPPED

    _, interruption = run_silently(graph, RunOptions(noop=True), note, notify)
    return states, interruption


async def _run_with_services(
    engine: Engine, interruption: Interruption, display: Display | None, services: RunServices
) -> Ended:
    if services.backups:
        services.backups.is_secret = engine.holds_secrets
    backup_store.set(services.backups)
    async with trio.open_nursery() as nursery:
        await nursery.start(interruption.listen)
        if display:
            nursery.start_soon(display.run)
            nursery.start_soon(_stop_when_reader_is_gone, engine, display)
            if services.reloader:
                nursery.start_soon(services.reloader.run)
        if services.journal:
            nursery.start_soon(services.journal.run)
        if services.backups:
            nursery.start_soon(services.backups.maintain)
        if services.control:
            await nursery.start(services.control.run, engine)
        if display:
            _show(nursery, engine, display, services)
        await _report(nursery, engine, services)
        if engine.options.watch:
            _start_parts_of_continuous_run(nursery, engine, display, services)
        if services.companions and display:
            _accompany(nursery, engine, display, services)
        ended = await engine.run()
        await _end_services(services)
        nursery.cancel_scope.cancel()
    return ended


def _start_parts_of_continuous_run(
    nursery: trio.Nursery, engine: Engine, display: Display | None, services: RunServices
) -> None:
    """Start what only a continuous run needs."""
    nursery.start_soon(_use_huge_pages, engine)
    if services.directory and display:
        from reactor.cli.running.state_guard import guard_state

        keep = (engine, services.directory, services.journal, services.control, display.warn)
        nursery.start_soon(guard_state, *keep)


async def _use_huge_pages(engine: Engine) -> None:
    from reactor.cli.running.heap import use_huge_pages

    await engine.settled.wait()
    await use_huge_pages()


def _show(nursery: trio.Nursery, engine: Engine, display: Display, services: RunServices) -> None:
    """Serve the metrics and the live page, and follow the network."""
    if services.network:
        services.network.attach(engine)
        nursery.start_soon(services.network.run, display.warn)
    if services.metrics_port and services.tally:
        nursery.start_soon(services.metrics_port.run, services.tally, engine, display.warn)
    if services.page:
        nursery.start_soon(services.page.run, engine, display.warn)


def _accompany(nursery: trio.Nursery, engine: Engine, display: Display, services: RunServices) -> None:
    """Start the companions. Few runs have any."""
    from reactor.cli.running.companions import supervise

    for companion in services.companions:
        nursery.start_soon(supervise, companion, engine, services.journal, display.warn)


async def _report(nursery: trio.Nursery, engine: Engine, services: RunServices) -> None:
    """Notify people and the service manager."""
    if services.notifications:
        await nursery.start(services.notifications.run)
    if services.reporter:
        nursery.start_soon(services.reporter.run, engine)


async def _end_services(services: RunServices) -> None:
    """Send the end of the run to the service manager and to all readers."""
    if services.reporter:
        services.reporter.ending()
    if services.notifications:
        await services.notifications.drain()
    if services.network:
        await services.network.drain()
    if services.control:
        await services.control.drain()
    if services.page:
        await services.page.drain()


async def _stop_when_reader_is_gone(engine: Engine, display: Display) -> None:
    """Stop the engine without an error, as a filter does, when the reader of our pipe is gone."""
    await display.reader_gone.wait()
    engine.stop()
