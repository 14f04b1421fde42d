"""Which events the journal keeps, and in what form: the JSON of `--format json`, its diffs apart, and cut to size."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from reactor.engine.events import (
    Blocked,
    Checked,
    Converged,
    Event,
    Output,
    Result,
    Skipped,
    as_json,
)
from reactor.journal.diffs import diffs_of

_REFS = frozenset({"ref", "culprits"})
"""The fields by which the history is searched. A ref is kept whole: that of an exec may be a script."""

_NOT_KEPT = (Output, Skipped, Converged)
"""What commands say may be secret; the others follow every change, or every resource at the end of a run."""

_TROUBLES = frozenset({Result.FAILED, Result.BLOCKED})
_OK = Result.OK  # see `reactor.engine.outcome.Outcome`

TEXT_LIMIT = 2000
"""Characters kept of one text: an error may quote all that a command has written."""

LIST_LIMIT = 50
"""Entries kept of one list: a tree may change thousands of files in one check."""


class Row(NamedTuple):
    """One row of the table ``events``, but for its id, which SQLite gives."""

    time: float
    event: str
    ref: str | None
    result: str | None
    generation: int | None
    record: str
    diffs: str | None = None
    """A JSON list of texts, for a table of its own."""


class Selector:
    """Says which events are kept: not a plain ok, unless it ends a trouble. ``troubled`` are the refs in one."""

    def __init__(self, troubled: set[str]) -> None:
        self._troubled = troubled

    def keeps(self, event: Event) -> bool:
        """Whether the journal wants ``event``. Called for every one: a plain ok must cost next to nothing."""
        if type(event) is Checked:
            if event.result is _OK and not event.actions:
                if event.ref not in self._troubled:
                    return False
                self._troubled.discard(event.ref)
            elif event.result is Result.FAILED:
                self._troubled.add(event.ref)
            else:
                self._troubled.discard(event.ref)
            return True
        if type(event) is Blocked:
            self._troubled.add(event.ref)
        return not isinstance(event, _NOT_KEPT)


def troubled(result: str | None) -> bool:
    """Whether the result of a last event says that its resource is in trouble."""
    return result in _TROUBLES


def lean(event: Event) -> Event:
    """The event without what not everybody gets who reads of it: its diffs."""
    if isinstance(event, Checked) and event.diffs:
        return event.with_diffs(())
    return event


def row(event: Event, generation: int | None) -> Row:
    """The event as it is written. Takes about 10 µs."""
    record, diffs = as_json(lean(event)), diffs_of(event)
    for key, value in record.items():
        if type(value) is str:
            if len(value) > TEXT_LIMIT and key not in _REFS:
                record[key] = _cut(value)
        elif type(value) is tuple and value:
            record[key] = _cut_list(value, whole=key in _REFS)
    return Row(
        event.time, record["event"], record.get("ref"), _result(event), generation, _dump(record), diffs
    )


def loss(count: int, now: float) -> Row:
    """Says that ``count`` events came faster than the disk took them."""
    record = {"event": "recordslost", "time": now, "count": count}
    return Row(now, "recordslost", None, None, None, _dump(record))


def _result(event: Event) -> str | None:
    if isinstance(event, Checked):
        return event.result
    return Result.BLOCKED if isinstance(event, Blocked) else None


_dump = json.JSONEncoder(separators=(",", ":")).encode


def _cut(text: str) -> str:
    return f"{text[:TEXT_LIMIT]} … ({len(text) - TEXT_LIMIT} characters more)"


def _cut_list(values: tuple[Any, ...], *, whole: bool) -> list[Any]:
    """Not too many of ``values``. The texts among them are cut unless they are to be left ``whole``."""
    kept = [
        _cut(each) if type(each) is str and len(each) > TEXT_LIMIT and not whole else each
        for each in values[:LIST_LIMIT]
    ]
    return kept if len(values) <= LIST_LIMIT else [*kept, f"… and {len(values) - LIST_LIMIT} more"]
