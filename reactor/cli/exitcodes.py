"""The exit codes of ``reactor run``; docs/commands.md has them as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactor.engine.events import Ended

DETAILED = "--detailed-exitcodes"

BAD_USAGE = 2
BAD_USAGE_DETAILED = 1
NOT_CONVERGED = 1
NOT_KNOWN = 2
"""Of `reactor status`: no run is active. The last one left no failure, but the host may have drifted since."""
CHANGED_BIT = 2
FAILED_BIT = 4
SIGNAL_BASE = 128


def bad_usage_code(*, detailed: bool) -> int:
    """The code for bad usage or an invalid manifest: 2; with detailed codes 1, because there 2 means changed."""
    return BAD_USAGE_DETAILED if detailed else BAD_USAGE


def run_code(ended: Ended, *, once: bool, detailed: bool) -> int:
    """The code for a run that ended.

    Resources that a one-shot run has not checked count as failed, but not those of a continuous run. A newer version
    of the manifest that could not be loaded counts as failed. In noop, resources that would change count as changed.
    """
    from reactor.engine.events import Result

    failed = not is_all_well(ended) or bool(once and ended.left)
    if not detailed:
        return NOT_CONVERGED if failed else 0
    changed = bool(ended.changes or ended.counts[Result.WOULD_CHANGE])
    return CHANGED_BIT * changed + FAILED_BIT * failed


def is_all_well(ended: Ended) -> bool:
    """Whether nothing failed, nothing is blocked, and the newest version of the manifest is in force."""
    from reactor.engine.events import Result

    return not (ended.counts[Result.FAILED] or ended.counts[Result.BLOCKED] or ended.outdated)


def signal_code(number: int) -> int:
    """The code for a run that a signal ended, as in shells: 128 + the number of the signal."""
    return SIGNAL_BASE + number
