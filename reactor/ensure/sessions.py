"""A session: the results of the calls of one script, in a directory with a journal, like that of a run.

A later resource can require an earlier one, or be refreshed because an earlier one has changed. Whether a refresh is
pending follows from the order of the recorded events, so it stays pending until it has succeeded.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from reactor.engine.events import Event, Result
from reactor.errors import ReactorError
from reactor.journal.history import History
from reactor.journal.journal import Journal
from reactor.journal.schema import FILE_NAME
from reactor.suggestions import did_you_mean

_FAULTY = (Result.FAILED, Result.BLOCKED)
_OK_RESULTS = (Result.OK, Result.CHANGED, Result.WOULD_CHANGE)


@dataclass(repr=False, eq=False)
class Ensured(Event):
    """The result of one call of ``reactor ensure``. ``culprits`` are the failed resources that block it."""

    ref: str
    alias: str | None
    result: Result
    refreshed: bool = False
    noop: bool = False
    error: str | None = None
    culprits: tuple[str, ...] = ()
    touched: bool = False
    """Whether it failed after it had changed something."""


class Prerequisites(NamedTuple):
    """The effects of a session on a resource: the failed resources that block it, and whether it must be refreshed."""

    culprits: tuple[str, ...] = ()
    refresh: bool = False


class UnknownNameError(ReactorError):
    """There is no resource ``name`` in the session."""

    code = "R0605"

    def __init__(self, name: str, hint: str) -> None:
        super().__init__(f"this session has no resource {name}", hint)
        self.name = name


class Session:
    """The session in ``directory``. Several processes may write to it, one after the other.

    Methods raise OSError, sqlite3.Error and HistoryError if the directory or its journal can't be used.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def past(self) -> list[Ensured]:
        """The results so far, the oldest first."""
        if not os.path.exists(os.path.join(self.directory, FILE_NAME)):
            return []
        with closing(History(self.directory)) as history:
            return [_ensured(entry.record) for entry in history.entries() if entry.event == "ensured"]

    def note(self, events: Iterable[Event], warn: Callable[[str], None]) -> None:
        """Record the events of one call. A lock lets one process at a time write, also while the journal is created."""
        with self._locked():
            journal = Journal.open(self.directory, "", warn)
            try:
                for event in events:
                    journal.record(event)
            finally:
                journal.close()

    def remove(self) -> bool:
        """Remove the session. Returns False if the directory stays because it has other files."""
        for companion in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self.directory, FILE_NAME + companion))
        with suppress(OSError):
            os.rmdir(self.directory)
        return not os.path.exists(self.directory)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def prerequisites(
    past: Sequence[Ensured], ref: str, require: Iterable[str], subscribe: Sequence[str], *, noop: bool
) -> Prerequisites:
    """The prerequisites of ``ref``, from the results ``past``. Raises UnknownNameError for a name not in them."""
    last = {name: index for index, each in enumerate(past) for name in names_of(each)}
    culprits: dict[str, None] = {}
    for name in (*require, *subscribe):
        if name not in last:
            hint = did_you_mean(name, last) or "call 'reactor ensure' for it first, in the same session"
            raise UnknownNameError(name, hint)
        if (found := past[last[name]]).result in _FAULTY:
            culprits.update(dict.fromkeys(found.culprits or (found.ref,)))
    if culprits:
        return Prerequisites(tuple(culprits))
    refreshing = (Result.CHANGED, Result.WOULD_CHANGE) if noop else (Result.CHANGED,)
    sources = {past[last[name]].ref for name in subscribe}
    since = max(
        (index for index, each in enumerate(past) if _has_refreshed(each, ref, noop=noop)), default=-1
    )
    return Prerequisites(
        refresh=any(
            each.ref in sources and (each.touched or each.result in refreshing) for each in past[since + 1 :]
        )
    )


def names_of(ensured: Ensured) -> Iterable[str]:
    """The names by which a later call can refer to the resource."""
    kind = ensured.ref.partition("#")[0]
    return (ensured.ref, f"{kind}#{ensured.alias}") if ensured.alias else (ensured.ref,)


def summary(past: Sequence[Ensured]) -> dict[str, Any]:
    """The counts of the session, with the names of CCM, and the open ``troubles``.

    As in CCM, blocked resources count as skipped and also as unmet.
    """
    counts = Counter(each.result for each in past)
    last = {each.ref: each for each in past}
    return {
        "total_resources": len(past),
        "unique_resources": len(last),
        "stable_resources": counts[Result.OK],
        "changed_resources": counts[Result.CHANGED],
        "would_change_resources": counts[Result.WOULD_CHANGE],
        "failed_resources": counts[Result.FAILED],
        "skipped_resources": counts[Result.SKIPPED] + counts[Result.BLOCKED],
        "requirements_unmet_count": counts[Result.BLOCKED],
        "refreshed_count": sum(each.refreshed for each in past),
        "total_errors": counts[Result.FAILED],
        "troubles": {each.ref: _problem(each) for each in last.values() if each.result in _FAULTY},
    }


def _has_refreshed(each: Ensured, ref: str, *, noop: bool) -> bool:
    """Whether ``each`` shows that the refresh of ``ref`` is done. The result of a dry run counts only for dry runs."""
    return each.ref == ref and each.result in _OK_RESULTS and (noop or not each.noop)


def _problem(each: Ensured) -> str:
    return f"requires {', '.join(each.culprits)}" if each.culprits else (each.error or "failed")


def _ensured(record: dict[str, Any]) -> Ensured:
    fields = {name: value for name, value in record.items() if name != "event"}
    fields["result"] = Result(fields["result"])
    fields["culprits"] = tuple(fields["culprits"])
    return Ensured(**fields)
