"""How a run is to go: what the command line and the manifest's settings decide."""

from __future__ import annotations

from typing import NamedTuple

DEFAULT_JOBS = 64
DEFAULT_AUDIT_INTERVAL = 1800.0


class RunOptions(NamedTuple):
    """``watch`` keeps the run going and listens for drift; without it the run ends when nothing is in motion.

    ``monitor_only`` runs health checks and nothing else. ``partial``: the graph is a part of the manifest only, so what
    is not in it has not left the manifest.
    ``converged_timeout`` (seconds) ends a run once nothing has changed for so long. ``audit_interval`` (seconds)
    is the mean time between two slow re-checks of everything; None switches them off. ``owing`` are refs that owe a
    refresh from the start, because of what happened outside of the run. ``recorded`` is for a rehearsal: the refs of
    which is known how they were before their first change; None when the run it rehearses would not record that.
    """

    watch: bool = False
    noop: bool = False
    monitor_only: bool = False
    diff: bool = False
    jobs: int = DEFAULT_JOBS
    fail_fast: bool = False
    partial: bool = False
    converged_timeout: float | None = None
    audit_interval: float | None = DEFAULT_AUDIT_INTERVAL
    owing: frozenset[str] = frozenset()
    recorded: frozenset[str] | None = None
