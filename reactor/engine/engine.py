"""The trio driver: it runs the checks the scheduler asks for, and tells it what happened.

All state is touched by one thread only, trio's.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterable, Mapping

import trio

from reactor.engine.alarm import Alarm
from reactor.engine.audit import Audit
from reactor.engine.checking import Checking
from reactor.engine.debts import Debts
from reactor.engine.events import Cause, Ended, Event, Reloaded
from reactor.engine.following import Origin
from reactor.engine.foregone import Foregone
from reactor.engine.herald import Herald
from reactor.engine.ledger import Ledger
from reactor.engine.limits import UNLIMITED
from reactor.engine.memory import Memory
from reactor.engine.options import Options
from reactor.engine.reversals import Reversals
from reactor.engine.roster import Roster
from reactor.engine.scheduler import Scheduler
from reactor.engine.watching import Watching
from reactor.engine.workers import SLICE, UNWATCHED_SLICE, Workers
from reactor.graph.graph import Graph
from reactor.resource.base import Resource
from reactor.resource.collector import collector_paused
from reactor.resource.fragile import fragile_mounts
from reactor.resource.registry import find_watchers
from reactor.resource.secrecy import knows_secrets
from reactor.resource.watch import Watch, Watcher

FREEZE_AT_LAST = 60.0
"""Seconds from the start."""


class Engine:
    """Converges one graph, and with ``options.watch`` keeps it converged.

    ``emit`` gets every `Event` as it happens; it must return quickly and must not raise. ``memory`` makes refreshes
    survive the process. ``watchers`` says who listens for which declaration; by default those installed.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        emit: Callable[[Event], None],
        *,
        memory: Memory | None = None,
        watchers: Mapping[type[Watch], type[Watcher]] | None = None,
    ) -> None:
        self.options = options
        self.emit = emit
        self.renew: Callable[[], Awaitable[bool]] | None = None
        """Loads the manifest anew and calls `reload`, if somebody does that for this run; false when it can't be used."""
        self.origin: Origin | None = None
        """The files that the graph was loaded from, where they can be loaded again."""
        self.roster = Roster(noop=options.noop, monitor_only=options.monitor_only)
        self.ledger = Ledger()
        self._herald = Herald(self.roster, self.ledger, emit)
        self._foregone = Foregone(self.roster, self.ledger, self._redeclare)
        undoing = not (options.noop or options.monitor_only or options.partial)
        self.reversals = Reversals(memory, undoing=undoing, recorded=options.recorded)
        topology, _ = self.roster.adopt(self.reversals.join(graph))
        self.scheduler = Scheduler(
            topology,
            jobs=options.jobs,
            default_retry=UNLIMITED if options.watch else 0,
            fail_fast=options.fail_fast,
            limits=self.roster.limits,
        )
        self._debts = Debts(self.roster, self.ledger, self.scheduler, memory, options.owing)
        self._checking = Checking(self, self._herald, self._foregone, memory)
        slice_seconds = SLICE if options.watch else UNWATCHED_SLICE
        self._workers = Workers(self, self._checking, options.jobs, slice_seconds)
        self._alarm = Alarm(self.scheduler.agenda.next_time)
        self._watching = Watching(
            self, watchers if watchers is not None or not options.watch else find_watchers()
        )
        self.scheduler.blame.wholes = self._foregone.adopt()
        self._stopping = ""
        self._over = trio.Event()
        self._unrest_since: float | None = None
        self._frozen = False

    # ---- the run ----

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> Ended:
        """Run to the end: quiescence, a stop, or with ``watch`` never by itself. Returns the last event."""
        self.clock = trio.lowlevel.current_clock()
        self._checking.fragile = fragile_mounts()
        self._checking.fragile.on_answer = self._retry_failed
        started = self._unrest_since = self._checking.last_change = self.clock.current_time()
        with collector_paused(), self._alarm, trio.CancelScope() as self._everything:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self.follow, self._alarm.wait, self._ring)
                if self.options.watch:
                    self._start_watching(nursery)
                self._herald.reversing(self.reversals.pending)
                self._mark_everything()
                self._workers.start(nursery)
                task_status.started()
                await self._over.wait()
                nursery.cancel_scope.cancel()
        took, outdated = trio.current_time() - started, self._checking.following.outdated
        return self._herald.ended(self.scheduler.blame, took, self._why_ended(), outdated)

    def _retry_failed(self) -> None:
        """What hung answers again: whatever has failed for that need not wait for its turn."""
        for vertex in sorted(self.scheduler.blame.failed):
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
        vertices = sorted(self.roster.present)
        resources = (self.roster.resources[vertex] for vertex in vertices)
        return [resource for resource in resources if resource.ref not in self.reversals.pending]

    def holds_secrets(self, ref: str) -> bool:
        """Whether the resource makes something on the host that may show a secret.

        Kinds call the files that they write ``file#PATH``: of one that no resource is, nobody knows whose it is.
        """
        vertex = self.roster.find(ref)
        return knows_secrets() if vertex is None else self.roster.resources[vertex].holds_secrets

    def running(self) -> list[str]:
        """The refs whose checks run now."""
        return [self.roster.refs[vertex] for vertex in self._workers.checking()]

    def prepare(self, graph: Graph) -> None:
        """Evaluate what is late in ``graph``, which comes into force next. For a thread: it may take seconds."""
        self._foregone.settle_all(graph.resources)

    def reload(self, graph: Graph, options: Options | None = None) -> Reloaded:
        """Go over to another generation at once; nothing waits for a check that runs.

        Of ``options``, ``jobs`` and ``fail_fast`` may differ from what they were, and are in force from now on.
        What is equal in both keeps its watches, stamps, retries and debts. What left the graph is let go, and undone
        only if it asked for that.
        """
        if options is not None:
            self._adjust(options)
        topology, difference = self.roster.adopt(self.reversals.join(graph), self.scheduler.running)
        fresh = [*difference.changed, *difference.added]
        self._watching.forget([*difference.changed, *difference.gone])
        self.ledger.forget(difference.gone)
        self._checking.forget(difference.absent)
        self.scheduler.reshape(topology, self.roster.limits, fresh, difference.absent)
        self._declare(fresh)
        self.scheduler.blame.wholes = self._foregone.adopt()
        event = self._herald.reloaded(difference, self.reversals.pending)
        refs = (self.roster.refs[vertex] for vertex in fresh)
        self._herald.reversing(ref for ref in refs if ref in self.reversals.pending)
        for vertex in (*fresh, *self._foregone.reconsidered(difference.kept)):
            self.mark(vertex, Cause.INTENT)
        self._debts.call_in(fresh, trio.current_time())
        self._checking.tell_transitions()
        self._after_marks()
        self._rest()
        return event

    def _adjust(self, options: Options) -> None:
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
        return self._watching.listen(watch, callback, armed)

    def unlisten(self, number: int) -> None:
        """Take a `listen` back."""
        self._watching.unlisten(number)

    def _start_watching(self, nursery: trio.Nursery) -> None:
        self._declare(sorted(self.roster.present))
        self._watching.start(nursery)
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
            if self.roster.refs[vertex] not in self.reversals.pending:
                self._watching.declare(vertex, self.roster.resources[vertex])

    def _mark_everything(self) -> None:
        self.scheduler.mark_all(Cause.INITIAL)
        self._debts.call_in(self.roster.present, trio.current_time())

    async def _end_when_quiet(self, quiet: float) -> None:
        while True:
            if self.scheduler.under_way:  # it may still change something
                self._checking.last_change = trio.current_time()
            left = self._checking.last_change + quiet - trio.current_time()
            if left <= 0:
                break
            await trio.sleep(left)
        self._stopping = f"nothing changed for {quiet:g} s"
        self._over.set()

    def _why_ended(self) -> str:
        if (failed := self.scheduler.blame.answerable()) and self.options.fail_fast:
            return f"{self.roster.refs[min(failed)]} failed and fail_fast is set"
        done = "not converged" if failed else "nothing is left to do"
        return self._stopping or self._checking.following.why or done

    # ---- what watchers and timers say ----

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """``vertex`` owes a check for ``cause``, ``delay`` seconds from now; returns at once."""
        if vertex not in self.roster.present:
            return
        now = self.clock.current_time()
        if self._unrest_since is None:
            self._unrest_since = now
        self.scheduler.mark(vertex, cause, now, delay)
        self._after_marks()

    async def follow(self, wait: Callable[[], Awaitable[None]], hear: Callable[[], None]) -> None:
        """Await ``wait`` and call ``hear``, for ever, and check what it marks as soon as can be."""
        await self._workers.follow(wait, hear)

    def hold(self, vertex: int) -> None:
        """Check ``vertex`` no more until `release`, and void the check that runs."""
        self.scheduler.hold(vertex)
        self._workers.cancel(vertex)

    def release(self, vertex: int) -> None:
        """Take a `hold` back."""
        self.scheduler.release(vertex)
        self._checking.tell_transitions()
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
            self._workers.wake()
        self._alarm.set()

    def _ring(self) -> None:
        self.scheduler.elapsed(trio.current_time())
        if self.scheduler.has_ready:
            self._workers.wake()

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
            self._alarm.set()
            self._rest()
        return vertex

    def suspended(self) -> None:
        """A check waits for something: let another worker go on, if there is anything to go on with."""
        if self.scheduler.has_ready:
            if self.scheduler.groups.followers:
                self._allow_workers()
            self._workers.wake()

    def lend(self, vertex: int) -> None:
        """The check of ``vertex`` takes no job from now on: let another one begin, if there is anything to do."""
        self.scheduler.lend(vertex)
        self._allow_workers()
        if self.scheduler.has_ready:
            self._workers.wake()

    def _allow_workers(self) -> None:
        """One for each job, one for each vertex of a party, which is one job, and those whose jobs are lent."""
        scheduler = self.scheduler
        self._workers.allow(scheduler.jobs + len(scheduler.groups.party) + len(scheduler.lent))

    def _redeclare(self, vertex: int) -> None:
        """The resource of ``vertex`` has other watches now. It is not checked before they are armed."""
        if self.options.watch:
            self._watching.forget([vertex])
            self._watching.declare(vertex, self.roster.resources[vertex])

    def _rest(self) -> None:
        """Nothing is ready: see whether that is convergence, the end, or only a pause."""
        if self.scheduler.active or self._checking.last_looks.is_under_way:
            return
        if self._stopping:
            self._over.set()
        elif self.scheduler.exhausted and not self.options.watch:
            if self._checking.last_looks.is_due:
                self._nursery.start_soon(self._look_again)
                return
            self._over.set()
        if self.scheduler.converged and self._unrest_since is not None:
            self._herald.converged(trio.current_time() - self._unrest_since)
            self._unrest_since = None
        self._freeze()

    async def _look_again(self) -> None:
        await self._checking.last_looks.take()
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
