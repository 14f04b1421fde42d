"""A run: builds its parts, starts and ends it, and switches to another generation of the manifest.

Only trio's thread touches the state of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import trio

from reactor.engine.dispatcher import Dispatcher
from reactor.engine.event_recorder import EventRecorder, Results
from reactor.engine.events import Cause, Ended, Event, Reloaded
from reactor.engine.limits import UNLIMITED
from reactor.engine.options import RunOptions
from reactor.engine.prechecks import GraphIndex, Prechecks
from reactor.engine.reversals import Reversals
from reactor.engine.run_store import PendingRefreshes, RunStore
from reactor.engine.scheduler import Scheduler
from reactor.engine.slots import SlotGate
from reactor.engine.vertex_checks import VertexChecks
from reactor.engine.vertex_table import TableChange, VertexTable, first_elements
from reactor.engine.watch_manager import WatchManager
from reactor.engine.worker_pool import SLICE, UNWATCHED_SLICE
from reactor.graph.graph import Graph
from reactor.graph.topology import Topology
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.gc_control import LongLived, gc_paused
from reactor.resource.mount_health import fragile_mounts
from reactor.resource.redaction import knows_secrets
from reactor.resource.registry import find_watchers
from reactor.resource.watch import Watch, Watcher

FREEZE_AT_LAST = 60.0
"""Seconds after the start."""


class NextGeneration(NamedTuple):
    """Another version of the manifest, ready to come into force.

    ``declined`` says whether the conditions of the kept vertices are not met (None: not known). ``record`` writes to the
    journal that this version is in force.
    """

    change: TableChange
    graph_index: GraphIndex
    declined: Mapping[int, bool | None]
    record: Callable[[], None]


class Engine:
    """Converges one graph, and with ``options.watch`` keeps it converged.

    It builds the parts of a run and connects them. ``emit`` receives every `Event` as it happens; it must return
    quickly and must not raise. ``run_store`` makes refreshes survive the process. ``watchers`` maps declarations to
    the watchers that serve them; the default is the installed watchers. ``slot_gate`` admits resources with a slot.
    """

    def __init__(
        self,
        graph: Graph,
        options: RunOptions,
        emit: Callable[[Event], None],
        *,
        run_store: RunStore | None = None,
        watchers: Mapping[type[Watch], type[Watcher]] | None = None,
        slot_gate: SlotGate | None = None,
    ) -> None:
        self.options = options
        self.emit = emit
        self.vertex_table = VertexTable(noop=options.noop, monitor_only=options.monitor_only)
        self.results = Results()
        self._recorder = EventRecorder(self.vertex_table, self.results, emit)
        self._prechecks = Prechecks(self.vertex_table, self.results, self._watch_again)
        undoing = not (options.noop or options.monitor_only or options.partial)
        self.reversals = Reversals(run_store, undoing=undoing, recorded=options.recorded)
        self._run_store = run_store
        first = self._compared(self.reversals.join(graph))
        self.vertex_table.adopt(first.change)
        self.scheduler = self._make_scheduler(first.change.topology)
        self._pending_refreshes = PendingRefreshes(
            self.vertex_table, self.results, self.scheduler, run_store, options.pending_refreshes
        )
        self.dispatcher = self._make_dispatcher()
        self._vertex_checks = self._make_vertex_checks(slot_gate)
        self._slots = self._vertex_checks.slots
        self.manifest_follower = self._vertex_checks.manifest_follower
        self.follow_up_checks = self._vertex_checks.follow_up_checks
        self._completion = self._vertex_checks.completion
        if watchers is None and options.watch:
            watchers = find_watchers()
        self.watch_manager = WatchManager(self.dispatcher, emit, watchers, options.health_interval)
        self._vertex_checks.follow_watches = self._follow_watches
        self.scheduler.blocking.composites = self._prechecks.index_graph(first.graph_index)
        first.record()
        self._end_reason = ""
        self._over = trio.Event()
        self.settled = trio.Event()
        self.idle = trio.lowlevel.ParkingLot()  # it unparks whenever no vertex is ready
        self._long_lived = LongLived()

    def _make_scheduler(self, topology: Topology) -> Scheduler:
        return Scheduler(
            topology,
            jobs=self.options.jobs,
            default_retry=UNLIMITED if self.options.watch else 0,
            fail_fast=self.options.fail_fast,
            limits=self.vertex_table.limits,
            needs_job=self.vertex_table.needs_job,
        )

    def _make_vertex_checks(self, slot_gate: SlotGate | None) -> VertexChecks:
        return VertexChecks(
            self.dispatcher,
            self.results,
            self._prechecks,
            reversals=self.reversals,
            run_store=self._run_store,
            options=self.options,
            slot_gate=slot_gate,
        )

    def _make_dispatcher(self) -> Dispatcher:
        return Dispatcher(
            self.scheduler,
            self.vertex_table,
            self._recorder,
            self._prechecks,
            slice_seconds=SLICE if self.options.watch else UNWATCHED_SLICE,
            on_idle=self._on_idle,
        )

    # ---- the run ----

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> Ended:
        """Run until nothing is left to do, or until a stop; with ``watch`` only until a stop. Return the last event."""
        started = self._completion.last_change = self.dispatcher.begin()
        self._vertex_checks.fragile = fragile_mounts()
        self._vertex_checks.fragile.on_answer = self._retry_failed
        with gc_paused(), self.dispatcher.wakeup, trio.CancelScope() as self._everything:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self._slots.start(nursery)
                if self.options.watch:
                    self._start_watching(nursery)
                self._recorder.reversing(self.reversals.pending)
                self._mark_everything()
                self.dispatcher.start(nursery, self._vertex_checks)
                task_status.started()
                try:
                    await self._over.wait()
                finally:
                    self._over.set()
                    self.dispatcher.pool.close()
                    await self._slots.drain()
                nursery.cancel_scope.cancel()
        follower, took = self.manifest_follower, trio.current_time() - started
        return self._recorder.ended(self.scheduler, took, self.why_ended(), follower.left_behind)

    def _retry_failed(self) -> None:
        """A mount answers again: retry every failed vertex now, because some failed for that reason."""
        for vertex in sorted(self.scheduler.blocking.failed):
            self.dispatcher.mark(vertex, Cause.RETRY)

    def stop(self) -> None:
        """Let running checks end and start no others; then `run` returns."""
        self._stop_starting(self._end_reason or "stopped")
        self._on_idle()

    def cancel(self) -> None:
        """Cancel running checks too; `run` returns after their cleanup."""
        self._stop_starting("cancelled")
        self._everything.cancel()

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, or only waits for the cleanup of cancelled checks. Don't call `reload` then."""
        return self._over.is_set()

    def holds_secrets(self, ref: str) -> bool:
        """Whether something that the resource creates on the host may show a secret.

        Kinds name a file that they write ``file#PATH``; without a resource of that ref, it may contain any known secret.
        """
        vertex = self.vertex_table.find(ref)
        return knows_secrets() if vertex is None else self._vertex_checks.may_show_secrets(vertex)

    def running(self) -> list[str]:
        """The refs of the resources that are being checked now."""
        return [self.vertex_table.refs[vertex] for vertex in self.dispatcher.pool.checking()]

    def prepare(self, graph: Graph) -> NextGeneration:
        """Compare ``graph`` with the one in force, so that `reload` is quick. Call it in a thread: it may take seconds."""
        self._prechecks.settle_all(graph.resources)
        _ = graph.has_unread_parts
        return self._compared(graph, briefly=False)

    def _compared(self, graph: Graph, *, briefly: bool = True) -> NextGeneration:
        change = self.vertex_table.compare(graph)
        index = GraphIndex(graph.resources, change.number)
        pending = self.reversals.pending.copy()
        desired = {ref: each for ref, each in graph.resources.items() if ref not in pending}
        store = self._run_store
        record = (lambda: None) if store is None else store.prepare_generation(desired)
        kept = {vertex: each for vertex, each in index.deferred.items() if vertex not in change.fresh}
        declined = self._prechecks.evaluate_conditions(kept, briefly=briefly)
        return NextGeneration(change, index, declined, record)

    def reload(
        self, graph: Graph, options: RunOptions | None = None,
        prepared: NextGeneration | None = None, cause: Cause = Cause.INTENT,
    ) -> Reloaded:  # fmt: skip
        """Switch to another generation of the manifest at once. Running checks continue.

        ``prepared`` is what `prepare` returned for ``graph``, compared now if that is missing or outdated. Of ``options``,
        only ``jobs`` and ``fail_fast`` may differ. What differs is checked for ``cause``; what is equal keeps its watches,
        stamps, retries and pending refreshes. What left the graph stays on the host, or is undone with ``meta.reverse``.
        """
        if options is not None:
            self._adjust(options)
        whole = self.reversals.join(graph)
        current = prepared if prepared is not None and self._is_current(prepared, whole) else None
        change, index, declined, record = current or self._compared(whole)
        late = first_elements(self.vertex_table, change)
        self.vertex_table.adopt(change, self.scheduler.running)
        difference, fresh = change.difference, [*change.difference.changed, *change.difference.added]
        self.watch_manager.forget([*difference.changed, *difference.gone])
        self._slots.forget([*difference.changed, *difference.gone], self.scheduler.running.__contains__)
        self.results.forget(difference.gone)
        self._vertex_checks.forget(difference.absent)
        self.scheduler.reshape(change.topology, self.vertex_table.limits, fresh, difference.absent)
        self._watch(fresh)
        self.scheduler.blocking.composites = self._prechecks.index_graph(index)
        record()
        event = self._recorder.reloaded(difference, self.reversals.pending)
        refs = self.vertex_table.refs
        self._recorder.reversing(refs[each] for each in fresh if refs[each] in self.reversals.pending)
        for vertex in (*fresh, *self._prechecks.changed_conditions(declined)):
            self.dispatcher.mark(vertex, Cause.INITIAL if refs[vertex] in late else cause)
        self._pending_refreshes.schedule_pending(fresh, trio.current_time())
        self.dispatcher.report_transitions()
        self.dispatcher.wake()
        self._on_idle()
        if self.settled.is_set():
            self._long_lived.exempt()
        return event

    def _is_current(self, prepared: NextGeneration, graph: Graph) -> bool:
        return prepared.change.graph is graph and self.vertex_table.is_current(prepared.change)

    def _adjust(self, options: RunOptions) -> None:
        self.options = self.options._replace(jobs=options.jobs, fail_fast=options.fail_fast)
        self.scheduler.jobs, self.scheduler.fail_fast = options.jobs, options.fail_fast
        self.dispatcher.allow_workers()

    def _start_watching(self, nursery: trio.Nursery) -> None:
        self._watch(sorted(self.vertex_table.present))
        self.watch_manager.start(nursery)
        if self.options.audit_interval is not None:
            from reactor.engine.audit import Audit  # noqa: PLC0415 - a one-shot run has none

            nursery.start_soon(Audit(self.dispatcher, self.options.audit_interval).run)
        nursery.start_soon(self._freeze_at_last)
        if self.options.converged_timeout is not None:
            nursery.start_soon(self._end_when_quiet, self.options.converged_timeout)

    def _watch(self, vertices: Iterable[int]) -> None:
        """Watch ``vertices``, except reversals: once a reversal has succeeded, drift no longer matters."""
        if not self.options.watch:
            return
        for vertex in vertices:
            if self.vertex_table.refs[vertex] not in self.reversals.pending:
                self.watch_manager.declare(vertex, self.vertex_table.resources[vertex])

    def _watch_again(self, vertex: int) -> None:
        """The resource of ``vertex`` now has different watches. It is not checked before they are armed."""
        if self.options.watch:
            self.watch_manager.forget([vertex])
            self.watch_manager.declare(vertex, self.vertex_table.resources[vertex])

    def _follow_watches(self, vertex: int, resource: Resource) -> None:
        """Watch ``resource``, whose watches may move, where it is now; if it moved, check it again once that is armed."""
        if self.options.watch and self.watch_manager.follow(vertex, resource):
            self.dispatcher.mark(vertex, Cause.DRIFT)

    def _mark_everything(self) -> None:
        self.scheduler.mark_all(Cause.INITIAL)
        self._pending_refreshes.schedule_pending(self.vertex_table.present, trio.current_time())

    async def _end_when_quiet(self, quiet: float) -> None:
        while True:
            if self.scheduler.under_way:  # it may still change something
                self._completion.last_change = trio.current_time()
            left = self._completion.last_change + quiet - trio.current_time()
            if left <= 0:
                break
            await trio.sleep(left)
        self._stop_starting(f"nothing changed for {quiet:g} s")
        self._over.set()

    def _stop_starting(self, reason: str) -> None:
        """Start no more checks; the run ends with ``reason``."""
        self._end_reason = reason
        self.dispatcher.is_stopping = True
        self._slots.stop_waiting()

    def why_ended(self) -> str:
        """The reason, as text, why a run that ends now ends."""
        if (failed := self.scheduler.blocking.root_failures()) and self.options.fail_fast:
            return self.vertex_table.fail_fast_reason(min(failed))
        follower = self.manifest_follower
        if not follower.outdated and follower.left_behind:
            return "the manifest was changed meanwhile and can't be used"
        done = "not converged" if failed else self.options.done
        return self._end_reason or follower.why or done

    def _on_idle(self) -> None:
        """No vertex is ready: find out whether the run has converged, is over, or only waits."""
        self.idle.unpark_all()
        if self.scheduler.active or self.follow_up_checks.is_under_way:
            return
        if self._end_reason:
            self._over.set()
        elif self.scheduler.exhausted and not self.options.watch:
            if self.follow_up_checks.is_due:
                self._nursery.start_soon(self._follow_up)
                return
            self._over.set()
        if self.scheduler.converged and self.dispatcher.busy_since is not None:
            self._recorder.converged(trio.current_time() - self.dispatcher.busy_since)
            self.dispatcher.busy_since = None
        if not self.scheduler.under_way:
            self._freeze()

    async def _follow_up(self) -> None:
        await self.follow_up_checks.take()
        self._on_idle()

    def _freeze(self) -> None:
        """Enable the garbage collector, but exempt all objects that exist now: they live as long as the run."""
        if self.options.watch and not self.settled.is_set():
            self.settled.set()
            self._long_lived.begin()

    async def _freeze_at_last(self) -> None:
        """Freeze after a while in any case: a run with a command that never ends needs the collector too."""
        await trio.sleep(FREEZE_AT_LAST)
        self._freeze()
