"""The options of a run, which the command line and the manifest's settings decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactor.named_tuple import NamedTuple

if TYPE_CHECKING:
    from reactor.engine.run_store import StoredReversals

DEFAULT_JOBS = 64
DEFAULT_AUDIT_INTERVAL = 1800.0


class RunOptions(NamedTuple):
    """``watch`` keeps the run going and repairs drift; without it the run ends when no vertex is active.

    ``monitor_only`` runs only health checks. ``partial``: the graph is only a part of the manifest, so resources that
    are not in it have not left the manifest. ``health_interval`` (seconds) is how often resources are checked whose health
    checks set no interval; None is never. ``converged_timeout`` (seconds) ends a run once nothing has changed for
    that long. ``audit_interval`` (seconds) is the mean time between two audits of every resource; None switches them
    off. ``pending_refreshes`` are refs that have a refresh pending from the start, because of something that happened outside the
    run. ``recorded`` is for a dry run: the stored reversals; None when the real run would not store any.
    """

    watch: bool = False
    noop: bool = False
    monitor_only: bool = False
    diff: bool = False
    jobs: int = DEFAULT_JOBS
    fail_fast: bool = False
    partial: bool = False
    health_interval: float | None = None
    converged_timeout: float | None = None
    audit_interval: float | None = DEFAULT_AUDIT_INTERVAL
    pending_refreshes: frozenset[str] = frozenset()
    recorded: StoredReversals | None = None

    @property
    def done(self) -> str:
        """Why a run ends that has done all, as text."""
        return "end of the dry run" if self.noop else "nothing is left to do"
