"""Reads a journal, or a copy of one, also while a run writes to it. Changes nothing."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from reactor.errors import ReactorError
from reactor.journal.event_search import newest_of, newest_of_each
from reactor.journal.row_validation import validated
from reactor.journal.schema import (
    FILE_NAME,
    KNOWN,
    ORIGINALS,
    UnusableError,
    address,
    provide_later_tables,
    refuse_foreign,
)

POLL_INTERVAL = 0.2
"""Seconds between two checks for new events; a check reads a page of shared memory."""

_ENTRIES = """
SELECT id, time, event, ref, result, generation, record FROM events
WHERE id > :after AND time BETWEEN :since AND :until AND (:ref IS NULL OR ref = :ref OR ref GLOB :ref
     OR ref IN (SELECT ref FROM aliases WHERE name = :ref OR name GLOB :ref))
AND (NOT :failed OR result IN ('failed', 'blocked')) ORDER BY id LIMIT 500
"""
_HAS_RESULT = "result IS NOT NULL AND (:result IS NULL OR result = :result)"
_WAITS = "event = 'slotwaited' AND NOT EXISTS (SELECT 1 FROM events AS later WHERE later.event = 'ended' AND later.id > events.id)"
_LATEST = """
SELECT id, time, event, ref, result, generation, record FROM events
WHERE time < :before ORDER BY id DESC LIMIT :most
"""
_LAST_ENDS = """
SELECT id, time, event, ref, result, generation, record FROM events
WHERE event = 'ended' ORDER BY id DESC LIMIT 2
"""
_REFRESHES = """
SELECT source, subscriber, owed_since, paid FROM refreshes
WHERE (:source IS NULL OR source = :source) AND (:subscriber IS NULL OR subscriber = :subscriber)
"""
_REVERSIBLE = "SELECT ref FROM originals WHERE kind IS NOT NULL"
_TIME = int | float | None
_DIFFS = "SELECT texts FROM diffs WHERE event = :event"
_UNUSABLE = "the next run keeps it under another name, and makes a new one"
_FORGED = f"{FILE_NAME} can be moved away while no run is active"
"""The hint where SQLite finds nothing wrong, so that no run makes another journal by itself."""


class HistoryError(ReactorError):
    """The journal can't be read, or there is none. Without another ``hint``, the next run makes a new one."""

    code = "R0603"

    def __init__(self, message: str, hint: str = _UNUSABLE) -> None:
        super().__init__(message, hint)


class NoHistoryError(HistoryError):
    """There is no journal."""


class Entry(NamedTuple):
    """One event in the journal. ``record`` is its JSON form."""

    id: int
    time: float
    event: str
    ref: str | None
    result: str | None
    generation: int | None
    record: dict[str, Any]


class Refresh(NamedTuple):
    """The refresh of ``subscriber`` after a change of ``source``.

    ``pending_since`` is None if no refresh is pending. ``refreshed`` is the time of the last one, None if there was
    none yet. Both are seconds since 1970.
    """

    source: str
    subscriber: str
    pending_since: float | None
    refreshed: float | None


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects entries: from ``since`` to ``until``, in seconds since 1970.

    ``ref`` is a glob, and selects only entries of resources that match. ``failed`` selects only the entries that say
    that a resource failed or is blocked.
    """

    since: float = 0.0
    until: float = math.inf
    ref: str | None = None
    failed: bool = False


EVERYTHING = Filter()


class History:
    """The journal in the state directory ``directory``, or the journal file itself. Raises HistoryError.

    With ``at_once`` the caller reads now and closes soon, so SQLite need not create its extra files beside the journal.
    """

    def __init__(self, directory: str, *, at_once: bool = False) -> None:
        self._path = os.path.join(directory, FILE_NAME)
        self._connection, self._inode = _open(self._path, at_once=at_once)

    def entries(self, wanted: Filter = EVERYTHING, *, after: int = 0) -> Iterator[Entry]:
        """The entries with an id above ``after``, oldest first.

        They are read in portions: a reader that pauses in the middle of a query would prevent the WAL from being emptied.
        """
        values = {"after": after, **dataclasses.asdict(wanted)}
        while portion := [_entry(found) for found in self._query(_ENTRIES, values)]:
            yield from portion
            values["after"] = portion[-1].id

    def follow(self, wanted: Filter = EVERYTHING, *, after: int) -> Iterator[Entry]:
        """The entries with an id above ``after``, then each new entry, without end.

        If the journal file is replaced, all entries of the new file follow.
        """
        seen = -1
        while True:
            ((version,),) = self._query("PRAGMA data_version")
            if version != seen:
                seen = version
                for entry in self.entries(wanted, after=after):
                    after = entry.id
                    yield entry
            time.sleep(POLL_INTERVAL)
            if self._replaced():
                self._connection.close()
                self._connection, self._inode = _open(self._path)
                seen, after = -1, 0

    def newest_id(self) -> int:
        """The id of the last entry; 0 when there is none."""
        ((newest,),) = self._query("SELECT coalesce(max(id), 0) FROM events")
        return int(newest)

    def last(self, ref: str, *, result: str | None = None, before: int | None = None) -> Entry | None:
        """The last check or block of ``ref``; if given, with this ``result``, or with an id below ``before``."""
        found = newest_of(self._query, ref, _HAS_RESULT, {"result": result}, before=before)
        return next(map(_entry, found), None)

    def last_of_each(self) -> tuple[dict[str, Entry], dict[str, Entry]]:
        """The last check or block of every ref that has one, and the last change of every ref that has one."""
        entries = [_entry(found) for found in newest_of_each(self._query)]
        changes = (entry for entry in entries if entry.result == "changed")
        return {str(entry.ref): entry for entry in entries}, {str(entry.ref): entry for entry in changes}

    def diffs(self, entry: Entry) -> list[str]:
        """The unified diffs of a check; empty if there are none in the journal."""
        found = self._query(_DIFFS, {"event": entry.id})
        try:
            return [str(text) for (texts,) in found for text in json.loads(texts)]
        except (ValueError, TypeError) as error:
            words = f"the diffs of event {entry.id} in the journal are damaged ({error})"
            raise HistoryError(words, _FORGED) from error

    def last_note(self, ref: str) -> Entry | None:
        """The last note of ``ref``."""
        return next(map(_entry, newest_of(self._query, ref, "event = 'noted'")), None)

    def last_flapping(self, ref: str) -> Entry | None:
        """The last time that ``ref`` began to flap."""
        return next(map(_entry, newest_of(self._query, ref, "event = 'flapping'")), None)

    def last_wait(self, ref: str, *, after: int) -> Entry | None:
        """The last time that ``ref`` began to wait for a slot, in the last run and with an id above ``after``."""
        return next(map(_entry, newest_of(self._query, ref, _WAITS, after=after)), None)

    def latest(self, most: int, *, ref: str | None = None, before: float = math.inf) -> list[Entry]:
        """The last ``most`` entries, optionally of ``ref`` or from before ``before``, oldest first."""
        values = {"most": most, "before": before}
        if ref is None:
            found = self._query(_LATEST, values)
        else:
            found = newest_of(self._query, ref, "time < :before", values, most=most)
        return [_entry(row) for row in found][::-1]

    def last_ends(self) -> list[Entry]:
        """The end events of the last two runs that were not killed, the newest first."""
        return [_entry(row) for row in self._query(_LAST_ENDS)]

    def refreshes(self, *, source: str | None = None, subscriber: str | None = None) -> list[Refresh]:
        """The refreshes of a source or a subscriber."""
        values = {"source": source, "subscriber": subscriber}
        return [Refresh(*row) for row in self._sound(_REFRESHES, (str, str, _TIME, _TIME), values)]

    def pending_refreshes(self) -> frozenset[str]:
        """The refs with a pending refresh."""
        return frozenset(each.subscriber for each in self.refreshes() if each.pending_since is not None)

    def originals(self) -> list[tuple[str, str, str, str]]:
        """The rows of states before the first change: the fields of `reactor.journal.undo_records.UndoRecord`."""
        return [*self._query(ORIGINALS)]

    def applied_since(self, ref: str) -> float | None:
        """The time since which ``ref`` has had its current desired state applied; None if it never was."""
        found = self._sound("SELECT applied FROM resources WHERE ref = :ref", (float,), {"ref": ref})
        return next((float(applied) for (applied,) in found), None)

    def knows(self, ref: str) -> bool:
        """Whether ``ref`` was ever applied, or has a pending refresh, or is the source of one."""
        return (
            self.applied_since(ref) is not None
            or bool(self.refreshes(source=ref))
            or bool(self.refreshes(subscriber=ref))
        )

    def refs(self) -> list[str]:
        """Every known ref, also of resources that were removed from the manifest."""
        return [ref for (ref,) in self._sound(KNOWN, (str,))]

    def present(self) -> list[str]:
        """The refs of the newest manifest that are known or have a pending refresh, and of removed resources that are not undone yet."""
        members = {ref for (ref,) in self._sound("SELECT ref FROM members", (str,))}
        removed = {ref for (ref,) in self._sound(_REVERSIBLE, (str,))} - members
        return sorted(
            {*self.refs(), *self.pending_refreshes()} & (members | {*filter(self._is_in_newest, removed)})
        )

    def has_left(self, ref: str) -> bool:
        """Whether ``ref`` is known, but not in the newest manifest."""
        if not (self.applied_since(ref) is not None or newest_of(self._query, ref)):
            return False
        if self._query("SELECT 1 FROM members WHERE ref = :ref LIMIT 1", {"ref": ref}):
            return False
        return (ref,) not in self._query(_REVERSIBLE) or not self._is_in_newest(ref)

    def _is_in_newest(self, ref: str) -> bool:
        """Whether ``ref`` has events of the newest generation. The numbers of generations only grow."""
        ((newest,),) = self._query("SELECT max(id) FROM generations")
        found = newest_of(self._query, ref, "generation IS NOT NULL")
        return any(_entry(row).generation == newest for row in found)

    def aliases(self) -> dict[str, str]:
        """Alias -> ref, for the newest manifest."""
        return dict(self._sound("SELECT name, ref FROM aliases", (str, str)))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _query(self, query: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(query, values or {}).fetchall()
        except sqlite3.Error as error:
            raise HistoryError(f"can't read the journal {self._path}: {error}") from error

    def _sound(
        self, query: str, types: tuple[Any, ...], values: Mapping[str, Any] | None = None
    ) -> list[tuple[Any, ...]]:
        """The rows of ``query``, with values of ``types``: SQLite does not detect a value of another type."""
        found = self._query(query, values)
        if not all(isinstance(value, of) for row in found for value, of in zip(row, types, strict=True)):
            words = f"can't read the journal {self._path}: it has a value of the wrong type"
            raise HistoryError(words, _FORGED)
        return found

    def _replaced(self) -> bool:
        try:
            return os.stat(self._path).st_ino != self._inode
        except FileNotFoundError:
            return False  # a run is moving the damaged file aside, and will create a new one


def _open(path: str, *, at_once: bool = False) -> tuple[sqlite3.Connection, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        words = f"there is no journal {path}: nothing has run yet with this state directory"
        raise NoHistoryError(words, "name the state directory of the run with --state-dir") from None
    except OSError as error:
        hint = "run the command as the user who runs reactor"
        raise HistoryError(f"can't read the journal {path}: {error.strerror}", hint) from error
    if not stat.S_ISREG(found.st_mode):  # opening a pipe would wait for a writer
        hint = "remove it: the next run makes a new one"
        raise HistoryError(f"can't read the journal {path}: it is not a regular file", hint)
    try:
        return _connect(path, at_once=at_once), found.st_ino
    except (sqlite3.Error, UnicodeDecodeError, UnusableError) as error:
        raise HistoryError(f"can't read the journal {path}: {error}") from error


def _connect(path: str, *, at_once: bool) -> sqlite3.Connection:
    """Open the journal for reading.

    If no run is active (there is no WAL) and the user can't write to the directory, the file is opened as
    `immutable`. Unless ``at_once`` is set, the file is opened for writing if possible: only then does SQLite remove
    its extra files on close.
    """
    if at_once and not os.path.exists(f"{path}-wal"):
        return _checked(f"{address(path, 'ro')}&immutable=1")
    try:
        return _checked(address(path, "ro" if at_once else "rw"))
    except sqlite3.OperationalError:
        if os.path.exists(f"{path}-wal"):
            raise
        return _checked(f"{address(path, 'ro')}&immutable=1")


def _checked(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True)
    try:
        refuse_foreign(connection)
        provide_later_tables(connection)
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _entry(found: tuple[Any, ...]) -> Entry:
    """The entry for a row. Raises HistoryError for a damaged row: SQLite does not detect changed text."""
    try:
        return Entry._make((*found[:-1], validated(json.loads(found[-1]))))
    except (ValueError, TypeError) as error:
        raise HistoryError(f"event {found[0]} in the journal is damaged ({error})", _FORGED) from error
