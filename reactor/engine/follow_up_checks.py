"""What a run without watches looks at once more when it comes to rest: no event told it what it has changed for others."""

from __future__ import annotations

from collections.abc import Collection

from reactor.engine.change_log import ChangeLog
from reactor.engine.dispatcher import Dispatcher
from reactor.engine.events import Cause, Result
from reactor.engine.final_check import FinalCheck
from reactor.engine.manifest_follower import ManifestFollower
from reactor.engine.rechecks import Rechecks
from reactor.engine.results import Results
from reactor.engine.stale_reads import StaleReads

_SETTLED = (Result.OK, Result.CHANGED)


class FollowUpChecks:
    """Decides what is checked again, in this order: what the manifest says now, what read an old file, what failed.

    Last it sees whether one change has undone another.
    """

    def __init__(self, dispatcher: Dispatcher, results: Results, manifest_follower: ManifestFollower) -> None:
        self._dispatcher = dispatcher
        self._scheduler = dispatcher.scheduler
        self._vertex_table = dispatcher.vertex_table
        self._results = results
        self._manifest_follower = manifest_follower
        self.log = ChangeLog()
        self._stale_reads = StaleReads(dispatcher.vertex_table, self.log)
        self._rechecks = Rechecks(self.log)
        self.final_check = FinalCheck(dispatcher.vertex_table, results)

    def changing(self, vertex: int) -> None:
        """The check of ``vertex`` is about to change something."""
        self.final_check.changes(vertex)
        self._manifest_follower.touched()
        self.log.changing(vertex, self._scheduler.batches.batch.get(vertex))

    def ends(self, vertex: int) -> None:
        """The check of ``vertex`` ended."""
        self.log.ends(vertex)

    @property
    def is_due(self) -> bool:
        """Whether something was changed that others may depend on."""
        return (
            self._manifest_follower.is_due
            or self._stale_reads.is_due
            or self._rechecks_due
            or self.final_check.is_due
        )

    @property
    def is_under_way(self) -> bool:
        """Whether a look takes place now."""
        return self._manifest_follower.is_under_way or self.final_check.is_under_way

    async def take(self) -> None:
        """Look, and mark what is to be checked again; the rest has its turn when that has come to rest."""
        if self._manifest_follower.is_due and await self._manifest_follower.take():
            return
        blocked = self._scheduler.blocking.blocked
        if self._marks(self._reads_old_files(blocked), Cause.INTENT):
            return
        if self._marks(self._failed_too_early(blocked), Cause.RETRY) or not self.final_check.is_due:
            return
        self._marks(await self.final_check.take(blocked), Cause.DRIFT)

    def _marks(self, vertices: Collection[int], cause: Cause) -> bool:
        for vertex in vertices:
            self._dispatcher.mark(vertex, cause)
        return bool(vertices)

    def _reads_old_files(self, blocked: Collection[int]) -> Collection[int]:
        if not self._stale_reads.is_due:
            return ()
        results, present = self._results, sorted(self._vertex_table.present)
        return self._stale_reads.take([each for each in present if results.result(each, blocked) in _SETTLED])

    @property
    def _rechecks_due(self) -> bool:
        """With `fail_fast`, the first failure is the end."""
        return self._rechecks.is_due and not self._scheduler.fail_fast

    def _failed_too_early(self, blocked: Collection[int]) -> Collection[int]:
        """What failed before another changed something. What stands for others is judged anew with them.

        The ``ccm:`` form tries everything once, as CCM does.
        """
        if not self._rechecks_due:
            return ()
        resources, scheduler = self._vertex_table.resources, self._scheduler
        failed = [
            vertex
            for vertex in scheduler.blocking.failed
            if not ((declared := resources[vertex].declared).members or declared.form.is_ccm)
        ]
        return self._rechecks.take(failed, blocked, scheduler.topology)
