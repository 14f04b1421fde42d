"""The trio driver: it runs the checks the scheduler asks for, and tells it what happened.

All state is touched by one thread only, trio's.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterable, Mapping

import trio

from reactor.engine.audit import Audit
from reactor.engine.event_recorder import EventRecorder
from reactor.engine.events import Cause, Ended, Event, Reloaded
from reactor.engine.limits import UNLIMITED
from reactor.engine.manifest_follower import Origin
from reactor.engine.options import RunOptions
from reactor.engine.owed_refreshes import OwedRefreshes
from reactor.engine.prechecks import Prechecks
from reactor.engine.results import Results
from reactor.engine.reversals import Reversals
from reactor.engine.run_store import RunStore
from reactor.engine.scheduler import Scheduler
from reactor.engine.vertex_checks import VertexChecks
from reactor.engine.vertex_table import VertexTable
from reactor.engine.wakeup import Wakeup
from reactor.engine.watch_manager import WatchManager
from reactor.engine.worker_pool import SLICE, UNWATCHED_SLICE, WorkerPool
from reactor.graph.graph import Graph
from reactor.resource.base import Resource
from reactor.resource.gc_control import gc_paused
from reactor.resource.mount_health import fragile_mounts
from reactor.resource.redaction import knows_secrets
from reactor.resource.registry import find_watchers
from reactor.resource.watch import Watch, Watcher

FREEZE_AT_LAST = 60.0
"""Seconds from the start."""


class Engine:
    """Converges one graph, and with ``options.watch`` keeps it converged.

    ``emit`` gets every `Event` as it happens; it must return quickly and must not raise. ``run_store`` makes refreshes
    survive the process. ``watchers`` says who listens for which declaration; by default those installed.
    """

    def __init__(
        self,
        graph: Graph,
        options: RunOptions,
        emit: Callable[[Event], None],
        *,
        run_store: RunStore | None = None,
        watchers: Mapping[type[Watch], type[Watcher]] | None = None,
    ) -> None:
        self.options = options
        self.emit = emit
        self.renew: Callable[[], Awaitable[bool]] | None = None
        """Loads the manifest anew and calls `reload`, if somebody does that for this run; false when it can't be used."""
        self.origin: Origin | None = None
        """The files that the graph was loaded from, where they can be loaded again."""
        self.vertex_table = VertexTable(noop=options.noop, monitor_only=options.monitor_only)
        self.results = Results()
        self._recorder = EventRecorder(self.vertex_table, self.results, emit)
        self._prechecks = Prechecks(self.vertex_table, self.results, self._redeclare)
        undoing = not (options.noop or options.monitor_only or options.partial)
        self.reversals = Reversals(run_store, undoing=undoing, recorded=options.recorded)
        topology, _ = self.vertex_table.replace_graph(self.reversals.join(graph))
        self.scheduler = Scheduler(
            topology,
            jobs=options.jobs,
            default_retry=UNLIMITED if options.watch else 0,
            fail_fast=options.fail_fast,
            limits=self.vertex_table.limits,
        )
        self._owed_refreshes = OwedRefreshes(
            self.vertex_table, self.results, self.scheduler, run_store, options.owing
        )
        self._vertex_checks = VertexChecks(self, self._recorder, self._prechecks, run_store)
        slice_seconds = SLICE if options.watch else UNWATCHED_SLICE
        self._worker_pool = WorkerPool(self, self._vertex_checks, options.jobs, slice_seconds)
        self._wakeup = Wakeup(self.scheduler.delay_queue.next_time)
        self._watch_manager = WatchManager(
            self, watchers if watchers is not None or not options.watch else find_watchers()
        )
        self.scheduler.blocking.composites = self._prechecks.adopt()
        self._stopping = ""
        self._over = trio.Event()
        self._unrest_since: float | None = None
        self._frozen = False

    # ---- the run ----

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> Ended:
        """Run to the end: quiescence, a stop, or with ``watch`` never by itself. Returns the last event."""
        self.clock = trio.lowlevel.current_clock()
        self._vertex_checks.fragile = fragile_mounts()
        self._vertex_checks.fragile.on_answer = self._retry_failed
        started = self._unrest_since = self._vertex_checks.completion.last_change = self.clock.current_time()
        with gc_paused(), self._wakeup, trio.CancelScope() as self._everything:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self.follow, self._wakeup.wait, self._on_deadline)
                if self.options.watch:
                    self._start_watching(nursery)
                self._recorder.reversing(self.reversals.pending)
                self._mark_everything()
                self._worker_pool.start(nursery)
                task_status.started()
                await self._over.wait()
                nursery.cancel_scope.cancel()
        took, outdated = trio.current_time() - started, self._vertex_checks.manifest_follower.outdated
        return self._recorder.ended(self.scheduler.blocking, took, self._why_ended(), outdated)

    def _retry_failed(self) -> None:
        """What hung answers again: whatever has failed for that need not wait for its turn."""
        for vertex in sorted(self.scheduler.blocking.failed):
            self.mark(vertex, Cause.RETRY)

    def stop(self) -> None:
        """Let running checks end and start no other; then `run` returns."""
        self._stopping = self._stopping or "stopped"
        self._rest()

    def cancel(self) -> None:
        """Cancel running checks too; `run` returns when they have cleaned up."""
        self._stopping = "cancelled"
        self._everything.cancel()

    def desired(self) -> list[Resource]:
        """The resources of the manifest that is in force."""
        vertices = sorted(self.vertex_table.present)
        resources = (self.vertex_table.resources[vertex] for vertex in vertices)
        return [resource for resource in resources if resource.ref not in self.reversals.pending]

    def holds_secrets(self, ref: str) -> bool:
        """Whether the resource makes something on the host that may show a secret.

        Kinds call the files that they write ``file#PATH``: of one that no resource is, nobody knows whose it is.
        """
        vertex = self.vertex_table.find(ref)
        return knows_secrets() if vertex is None else self.vertex_table.resources[vertex].holds_secrets

    def running(self) -> list[str]:
        """The refs whose checks run now."""
        return [self.vertex_table.refs[vertex] for vertex in self._worker_pool.checking()]

    def prepare(self, graph: Graph) -> None:
        """Evaluate what is late in ``graph``, which comes into force next. For a thread: it may take seconds."""
        self._prechecks.settle_all(graph.resources)

    def reload(self, graph: Graph, options: RunOptions | None = None) -> Reloaded:
        """Go over to another generation at once; nothing waits for a check that runs.

        Of ``options``, ``jobs`` and ``fail_fast`` may differ from what they were, and are in force from now on.
        What is equal in both keeps its watches, stamps, retries and debts. What left the graph is let go, and undone
        only if it asked for that.
        """
        if options is not None:
            self._adjust(options)
        topology, difference = self.vertex_table.replace_graph(
            self.reversals.join(graph), self.scheduler.running
        )
        fresh = [*difference.changed, *difference.added]
        self._watch_manager.forget([*difference.changed, *difference.gone])
        self.results.forget(difference.gone)
        self._vertex_checks.forget(difference.absent)
        self.scheduler.reshape(topology, self.vertex_table.limits, fresh, difference.absent)
        self._declare(fresh)
        self.scheduler.blocking.composites = self._prechecks.adopt()
        event = self._recorder.reloaded(difference, self.reversals.pending)
        refs = (self.vertex_table.refs[vertex] for vertex in fresh)
        self._recorder.reversing(ref for ref in refs if ref in self.reversals.pending)
        for vertex in (*fresh, *self._prechecks.changed_conditions(difference.kept)):
            self.mark(vertex, Cause.INTENT)
        self._owed_refreshes.schedule_owed(fresh, trio.current_time())
        self._vertex_checks.completion.report_transitions()
        self._after_marks()
        self._rest()
        return event

    def _adjust(self, options: RunOptions) -> None:
        self.options = self.options._replace(jobs=options.jobs, fail_fast=options.fail_fast)
        self.scheduler.jobs = options.jobs
        self.scheduler.fail_fast = options.fail_fast
        self._allow_workers()

    def listen(
        self, watch: Watch, callback: Callable[[], None], armed: Callable[[], None] | None = None
    ) -> int:
        """Call ``callback`` when ``watch`` tells of a change, for something that is no resource.

        Each time it begins to be heard, ``armed`` is called: what happened before that has not been told. Returns a
        number for `unlisten`.
        """
        return self._watch_manager.listen(watch, callback, armed)

    def unlisten(self, number: int) -> None:
        """Take a `listen` back."""
        self._watch_manager.unlisten(number)

    def _start_watching(self, nursery: trio.Nursery) -> None:
        self._declare(sorted(self.vertex_table.present))
        self._watch_manager.start(nursery)
        if self.options.audit_interval is not None:
            nursery.start_soon(Audit(self, self.options.audit_interval).run)
        nursery.start_soon(self._freeze_at_last)
        if self.options.converged_timeout is not None:
            nursery.start_soon(self._end_when_quiet, self.options.converged_timeout)

    def _declare(self, vertices: Iterable[int]) -> None:
        """Watch ``vertices``, but not what undoes a resource: once that has succeeded, drift is no concern of ours."""
        if not self.options.watch:
            return
        for vertex in vertices:
            if self.vertex_table.refs[vertex] not in self.reversals.pending:
                self._watch_manager.declare(vertex, self.vertex_table.resources[vertex])

    def _mark_everything(self) -> None:
        self.scheduler.mark_all(Cause.INITIAL)
        self._owed_refreshes.schedule_owed(self.vertex_table.present, trio.current_time())

    async def _end_when_quiet(self, quiet: float) -> None:
        while True:
            if self.scheduler.under_way:  # it may still change something
                self._vertex_checks.completion.last_change = trio.current_time()
            left = self._vertex_checks.completion.last_change + quiet - trio.current_time()
            if left <= 0:
                break
            await trio.sleep(left)
        self._stopping = f"nothing changed for {quiet:g} s"
        self._over.set()

    def _why_ended(self) -> str:
        if (failed := self.scheduler.blocking.root_failures()) and self.options.fail_fast:
            return f"{self.vertex_table.refs[min(failed)]} failed and fail_fast is set"
        done = "not converged" if failed else "nothing is left to do"
        return self._stopping or self._vertex_checks.manifest_follower.why or done

    # ---- what watchers and timers say ----

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """``vertex`` owes a check for ``cause``, ``delay`` seconds from now; returns at once."""
        if vertex not in self.vertex_table.present:
            return
        now = self.clock.current_time()
        if self._unrest_since is None:
            self._unrest_since = now
        self.scheduler.mark(vertex, cause, now, delay)
        self._after_marks()

    async def follow(self, wait: Callable[[], Awaitable[None]], hear: Callable[[], None]) -> None:
        """Await ``wait`` and call ``hear``, for ever, and check what it marks as soon as can be."""
        await self._worker_pool.follow(wait, hear)

    def hold(self, vertex: int) -> None:
        """Check ``vertex`` no more until `release`, and void the check that runs."""
        self.scheduler.hold(vertex)
        self._worker_pool.cancel(vertex)

    def release(self, vertex: int) -> None:
        """Take a `hold` back."""
        self.scheduler.release(vertex)
        self._vertex_checks.completion.report_transitions()
        self._after_marks()

    def pause(self, vertex: int) -> None:
        """Start no further check of ``vertex`` until `unpause`. One that runs goes on; marks are owed."""
        self.scheduler.pause(vertex)

    def unpause(self, vertex: int) -> None:
        """Take a `pause` back: a check that is owed starts now."""
        self.scheduler.unpause(vertex)
        self._after_marks()

    def _after_marks(self) -> None:
        if self.scheduler.has_ready:
            self._worker_pool.wake()
        self._wakeup.set()

    def _on_deadline(self) -> None:
        self.scheduler.elapsed(trio.current_time())
        if self.scheduler.has_ready:
            self._worker_pool.wake()

    # ---- checks ----

    @property
    def has_work(self) -> bool:
        """Whether a check is due."""
        return self.scheduler.has_ready

    def take(self, now: float) -> int | None:
        """The next vertex to check; None when there is none."""
        refused = self._stopping and not self.scheduler.groups.followers
        vertex = None if refused else self.scheduler.next_ready(now)
        if vertex is None:
            self._wakeup.set()
            self._rest()
        return vertex

    def suspended(self) -> None:
        """A check waits for something: let another worker go on, if there is anything to go on with."""
        if self.scheduler.has_ready:
            if self.scheduler.groups.followers:
                self._allow_workers()
            self._worker_pool.wake()

    def lend(self, vertex: int) -> None:
        """The check of ``vertex`` takes no job from now on: let another one begin, if there is anything to do."""
        self.scheduler.lend(vertex)
        self._allow_workers()
        if self.scheduler.has_ready:
            self._worker_pool.wake()

    def _allow_workers(self) -> None:
        """One for each job, one for each vertex of a party, which is one job, and those whose jobs are lent."""
        scheduler = self.scheduler
        self._worker_pool.allow(scheduler.jobs + len(scheduler.groups.batch) + len(scheduler.lent))

    def _redeclare(self, vertex: int) -> None:
        """The resource of ``vertex`` has other watches now. It is not checked before they are armed."""
        if self.options.watch:
            self._watch_manager.forget([vertex])
            self._watch_manager.declare(vertex, self.vertex_table.resources[vertex])

    def _rest(self) -> None:
        """Nothing is ready: see whether that is convergence, the end, or only a pause."""
        if self.scheduler.active or self._vertex_checks.follow_up_checks.is_under_way:
            return
        if self._stopping:
            self._over.set()
        elif self.scheduler.exhausted and not self.options.watch:
            if self._vertex_checks.follow_up_checks.is_due:
                self._nursery.start_soon(self._look_again)
                return
            self._over.set()
        if self.scheduler.converged and self._unrest_since is not None:
            self._recorder.converged(trio.current_time() - self._unrest_since)
            self._unrest_since = None
        self._freeze()

    async def _look_again(self) -> None:
        await self._vertex_checks.follow_up_checks.take()
        self._rest()

    def _freeze(self) -> None:
        """Let the garbage collector work, but not on what lives for ever: a full collection walks that in vain."""
        if self.options.watch and not self._frozen:
            self._frozen = True
            gc.collect()
            gc.freeze()
            gc.enable()

    async def _freeze_at_last(self) -> None:
        """A run that never rests, because of a command that does not end, needs the collector too."""
        await trio.sleep(FREEZE_AT_LAST)
        self._freeze()
