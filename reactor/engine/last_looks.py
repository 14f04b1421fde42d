"""What a run without watches looks at once more when it comes to rest: no event told it what it has changed for others."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from reactor.engine.change_log import ChangeLog
from reactor.engine.events import Cause, Result
from reactor.engine.following import Following
from reactor.engine.ledger import Ledger
from reactor.engine.options import Options
from reactor.engine.rechecks import Rechecks
from reactor.engine.rereading import Rereading
from reactor.engine.roster import Roster
from reactor.engine.scheduler import Scheduler
from reactor.engine.second_look import SecondLook

_SETTLED = (Result.OK, Result.CHANGED)


class Run(Protocol):
    """The engine, as seen from here."""

    options: Options
    roster: Roster
    ledger: Ledger
    scheduler: Scheduler

    def mark(self, vertex: int, cause: Cause, delay: float = 0.0) -> None:
        """``vertex`` owes a check for ``cause``, ``delay`` seconds from now."""


class LastLooks:
    """Decides what is checked again, in this order: what the manifest says now, what read an old file, what failed.

    Last it sees whether one change has undone another.
    """

    def __init__(self, run: Run, following: Following) -> None:
        self._run = run
        self._following = following
        self.log = ChangeLog()
        self._rereading = Rereading(run.roster, self.log)
        self._rechecks = Rechecks(self.log)
        self.second_look = SecondLook(run.roster, run.ledger)

    def changing(self, vertex: int) -> None:
        """The check of ``vertex`` is about to change something."""
        self.second_look.changes(vertex)
        self._following.touched()
        self.log.changing(vertex, self._run.scheduler.groups.party.get(vertex))

    def ends(self, vertex: int) -> None:
        """The check of ``vertex`` ended."""
        self.log.ends(vertex)

    @property
    def is_due(self) -> bool:
        """Whether something was changed that others may depend on."""
        return (
            self._following.is_due or self._rereading.is_due or self._rechecks_due or self.second_look.is_due
        )

    @property
    def is_under_way(self) -> bool:
        """Whether a look takes place now."""
        return self._following.is_under_way or self.second_look.is_under_way

    async def take(self) -> None:
        """Look, and mark what is to be checked again; the rest has its turn when that has come to rest."""
        if self._following.is_due and await self._following.take():
            return
        blocked = self._run.scheduler.blame.blocked
        if self._marks(self._reads_old_files(blocked), Cause.INTENT):
            return
        if self._marks(self._failed_too_early(blocked), Cause.RETRY) or not self.second_look.is_due:
            return
        self._marks(await self.second_look.take(blocked), Cause.DRIFT)

    def _marks(self, vertices: Collection[int], cause: Cause) -> bool:
        for vertex in vertices:
            self._run.mark(vertex, cause)
        return bool(vertices)

    def _reads_old_files(self, blocked: Collection[int]) -> Collection[int]:
        if not self._rereading.is_due:
            return ()
        ledger, present = self._run.ledger, sorted(self._run.roster.present)
        return self._rereading.take([each for each in present if ledger.result(each, blocked) in _SETTLED])

    @property
    def _rechecks_due(self) -> bool:
        """With `fail_fast`, the first failure is the end."""
        return self._rechecks.is_due and not self._run.options.fail_fast

    def _failed_too_early(self, blocked: Collection[int]) -> Collection[int]:
        """What failed before another changed something. What stands for others is judged anew with them.

        The ``ccm:`` form tries everything once, as CCM does.
        """
        if not self._rechecks_due:
            return ()
        resources, scheduler = self._run.roster.resources, self._run.scheduler
        failed = [
            vertex
            for vertex in scheduler.blame.failed
            if not (resources[vertex].members or resources[vertex].only_hears)
        ]
        return self._rechecks.take(failed, blocked, scheduler.topology)
