"""How a run is to go: what the command line and the manifest's settings decide."""

from __future__ import annotations

from typing import NamedTuple

DEFAULT_JOBS = 64
DEFAULT_AUDIT_INTERVAL = 1800.0


class RunOptions(NamedTuple):
    """``watch`` keeps the run going and listens for drift; without it the run ends when no vertex is active.

    ``monitor_only`` runs health checks and nothing else. ``partial``: the graph is a part of the manifest only, so what
    is not in it has not left the manifest.
    ``converged_timeout`` (seconds) ends a run once nothing has changed for so long. ``audit_interval`` (seconds)
    is the mean time between two slow re-checks of everything; None switches them off. ``owing`` are refs that have a
    refresh pending from the start, because of what happened outside of the run. ``recorded`` is for a dry run: the refs
    whose state before their first change is stored; None when the real run would not store it.
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
