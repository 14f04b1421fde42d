"""The status at the end of the last run, read from the journal. It has the form of the status of an active run."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from reactor.control.names import UnknownNameError, unknown_name
from reactor.control.pause_file import Pause, PauseFile, effective
from reactor.control.protocol import StatusQuery
from reactor.control.status_table import UNKNOWN
from reactor.engine.events import Cause, Result

if TYPE_CHECKING:
    from reactor.journal.history import Entry, History

_OK_RESULTS = ("ok", "changed")


def last_status(pauses: PauseFile, history: History, query: StatusQuery) -> dict[str, Any]:
    """The status of the resources of the last manifest; ``run`` is None. Raises UnknownNameError."""
    active = pauses.active(time.time())
    called: dict[str, tuple[str, ...]] = {ref: (ref,) for ref in sorted(history.present())}
    for alias, ref in history.aliases().items():
        if ref in called:
            called[ref] = (ref, alias)
    every_name = [name for names in called.values() for name in names]
    if query.match is not None and not query.matches(every_name):
        raise _unknown(query.match, every_name, history)
    ended, before = _last_end(history)
    last, changed = history.last_of_each()
    pending = history.pending_refreshes()
    records = {
        names: _record(
            history, names, active, _Events(last.get(ref), changed.get(ref), before, ref in pending)
        )
        for ref, names in called.items()
    }
    shown = [
        record
        for names, record in records.items()
        if query.matches(names) and query.selects(record["state"], is_ok=_is_ok(record))
    ]
    counts = Counter(record["state"] for record in records.values())
    return {
        "run": None,
        "ended": ended,
        "counts": {str(result): counts[result] for result in Result},
        "watchers": [],
        "resources": shown,
    }


def _last_end(history: History) -> tuple[dict[str, Any] | None, int]:
    """When and why the last run ended, how many it skipped, and the id of the end of the run before it.

    One that left events after all ends was killed. The journal does not say which resources a run has skipped.
    """
    ends = history.last_ends()
    if (newest := history.latest(1)) and newest[0].id > (last := ends[0].id if ends else 0):
        return {"time": newest[0].time, "reason": "killed: it recorded no end", "skipped": 0}, last
    end, former = (*ends, None, None)[:2]
    if end is None:
        return None, 0
    skipped = end.record["counts"]["skipped"]
    ended = {"time": end.time, "reason": end.record["reason"], "skipped": skipped}
    return ended, 0 if former is None else former.id


def _unknown(asked: str, every_name: list[str], history: History) -> UnknownNameError:
    if history.has_left(asked):
        return UnknownNameError(asked, f"it was not part of the last run; see 'reactor why {asked}'")
    return unknown_name(every_name, asked)


def _is_ok(record: dict[str, Any]) -> bool:
    return record["state"] in _OK_RESULTS and record["paused"] is None and not record["pending"]


class _Events(NamedTuple):
    """The last event of a resource and its last change. ``former`` is the id of the end of the run before the last one.

    ``has_pending_refresh`` says that a refresh of the resource is pending.
    """

    last: Entry | None
    changed: Entry | None
    former: int
    has_pending_refresh: bool


def _record(history: History, names: tuple[str, ...], pauses: list[Pause], events: _Events) -> dict[str, Any]:
    """The status of one resource; ``names`` are its ref and its alias, if it has one.

    The journal has no event for a check that found nothing to do, so a resource whose last event is a change before
    the last run is ok. One without any event that was never applied is known by its pending refresh only.
    """
    ref = names[0]
    last, changed, former, has_pending_refresh = events
    pause = effective(pauses, names, time.time())
    record = last.record if last is not None else {}
    since = last.time if last is not None else history.applied_since(ref)
    return {
        "ref": ref,
        "state": UNKNOWN if since is None else _state(last, former),
        "since": since,
        "mode": None,
        "in_motion": False,
        "checking": False,
        "refresh_at": None,
        "pending": list(Cause.REFRESH.words) if has_pending_refresh else [],
        "checked": _checked(last),
        "changed": None
        if changed is None
        else {"time": changed.time, "causes": changed.record["causes"], "actions": changed.record["actions"]},
        "error": record.get("error"),
        "hint": record.get("hint"),
        "code": record.get("code"),
        "retry_at": None,
        "blocked_by": record.get("culprits", []),
        "waiting_for": None,
        "watching": [],
        "flapping": None,
        "paused": None
        if pause is None
        else {"since": pause.since, "until": pause.until, "reason": pause.reason},
    }


def _state(last: Entry | None, former: int) -> str | None:
    if last is None or (last.result == Result.CHANGED and last.id < former):
        return str(Result.OK)
    return last.result


def _checked(last: Entry | None) -> dict[str, Any] | None:
    if last is None or last.event != "checked":
        return None
    return {"time": last.time, "causes": last.record["causes"], "duration": last.record["duration"]}
