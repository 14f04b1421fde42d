"""The events that the journal keeps, and their form: the JSON of `--format json`, shortened, without diffs."""

from __future__ import annotations

import json
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any

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
from reactor.named_tuple import NamedTuple

_REFS = frozenset({"ref", "culprits"})
"""The fields with refs. They are searched, so they are never shortened; the ref of an exec may be a script."""

_NOT_KEPT = (Output, Skipped, Converged)
"""Events that are not kept: `Output` may have secrets; the others would repeat for every resource or run."""

_FAILING = frozenset({Result.FAILED, Result.BLOCKED})
_OK = Result.OK  # see `reactor.engine.outcome.Outcome`

TEXT_LIMIT = 2000
"""Characters that are kept of one string: an error may quote all output of a command."""

LIST_LIMIT = 50
"""Entries that are kept of one list: a tree may change thousands of files in one check."""


class Row(NamedTuple):
    """One row of the table ``events``, without its id."""

    time: float
    event: str
    ref: str | None
    result: str | None
    generation: int | None
    record: str
    diffs: str | None = None
    """A JSON list of diffs, for the table of diffs."""


class Selector:
    """Selects the events to keep: an ok without changes only after a failure. ``failing`` are the failed or blocked refs."""

    def __init__(self, failing: set[str]) -> None:
        self._failing = failing

    def keeps(self, event: Event) -> bool:
        """Whether to keep ``event``. Called for every event, so an ok without changes must cost almost nothing."""
        if type(event) is Checked:
            if event.result is _OK and not event.actions:
                if event.ref not in self._failing:
                    return False
                self._failing.discard(event.ref)
            elif event.result is Result.FAILED:
                self._failing.add(event.ref)
            else:
                self._failing.discard(event.ref)
            return True
        if type(event) is Blocked:
            self._failing.add(event.ref)
        return not isinstance(event, _NOT_KEPT)


def is_failing(result: str | None) -> bool:
    """Whether ``result`` of the last event of a resource means that it failed or is blocked."""
    return result in _FAILING


def lean(event: Event) -> Event:
    """The event without its diffs."""
    if isinstance(event, Checked) and event.diffs:
        return event.with_diffs(())
    return event


def row(event: Event, generation: int | None) -> Row:
    """The row for an event. Takes about 2 µs for a change, 10 µs for others."""
    if type(event) is Checked and _has_only_actions(event):
        record = _text_of_change(event)
        return Row(event.time, "checked", event.ref, event.result, generation, record, diffs_of(event))
    return _row_of_any(event, generation)


def _row_of_any(event: Event, generation: int | None) -> Row:
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


def _has_only_actions(event: Checked) -> bool:
    return (
        event.error is None
        and event.hint is None
        and event.retry_in is None
        and not event.health
        and event.code is None
    )


def _text_of_change(event: Checked) -> str:
    """The same text as `_row_of_any` makes, of an event that `_has_only_actions`: a first run has one for each resource."""
    return (
        f'{{"event":"checked","time":{event.time!r},"ref":{encode_basestring_ascii(event.ref)}'
        f',"result":"{event.result}","causes":{_text_of_list(event.causes.words)},"duration":{event.duration!r}'
        f',"actions":{_text_of_list(event.actions)},"diffs":[],"error":null,"hint":null,"retry_in":null}}'
    )


@lru_cache(maxsize=16)  # few: each may have a hundred thousand characters
def _text_of_list(texts: tuple[str, ...]) -> str:
    return _dump(_cut_list(texts, whole=False))


def loss(count: int, now: float) -> Row:
    """The row that records that ``count`` events were dropped because the disk was too slow."""
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
    """At most `LIST_LIMIT` of ``values``. Strings are shortened unless ``whole``."""
    kept = [
        _cut(each) if type(each) is str and len(each) > TEXT_LIMIT and not whole else each
        for each in values[:LIST_LIMIT]
    ]
    return kept if len(values) <= LIST_LIMIT else [*kept, f"… and {len(values) - LIST_LIMIT} more"]
