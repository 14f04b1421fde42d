"""A session of ``reactor receive``: hands its work over to a standby process, or leaves one for the next session."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

from reactor.fleet.push.handover import hand_over
from reactor.journal.state_directory import holder, locate

if TYPE_CHECKING:
    from io import BufferedReader

_FAILED = 1
_NEEDED = (
    "reactor.cli.running.receiving",
    "reactor.cli.running.receive_evidence",
    "reactor.cli.running.converge",
    "reactor.loading",
)


def receive_session(work: Callable[[], int]) -> int:
    """Do ``work``, which reads stdin, here or in the standby process of this host; return the exit code.

    Where a run follows the bundles of pushes, it does the work, and neither is needed.
    """
    location = locate()
    if location is None or holder(location.path) is not None:
        return work()
    code = hand_over(location.path)
    if code is not None:
        return code
    from reactor.cli.running.receive_proof import report_proven

    try:
        if report_proven(location.path, cast("BufferedReader", sys.stdin.buffer)):
            return 0
    except BrokenPipeError:
        return _FAILED
    for name in _NEEDED:
        import_module(name)
    from reactor.fleet.push.standby import Standby

    standby = Standby.fork(location.path, work, _build_models)
    code = work()
    if standby is not None:
        if code == 0 and holder(location.path) is None:
            standby.stay()
        standby.close()
    return code


def _build_models() -> None:
    """Build the models of all imported kinds now. A run builds each when it first needs it: a quarter of its time."""
    from pydantic import BaseModel

    models = BaseModel.__subclasses__()
    for model in models:
        models += model.__subclasses__()
        model.model_rebuild(raise_errors=False)
