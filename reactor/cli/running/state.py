"""The state of a run: the locked state directory, its journal and backups.

After a disk error, the run goes on without the parts that failed, and warns.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress

from reactor.backup.store import Store, backups_in
from reactor.cli import exitcodes
from reactor.cli.messages import EndedByErrorsError, fail_for
from reactor.console.open_problems import name_some
from reactor.engine.options import RunOptions
from reactor.engine.reversals import not_taken
from reactor.graph.graph import REFRESHING, Graph
from reactor.hostfs.downloads import remove_old_downloads
from reactor.hostfs.private import remove_private
from reactor.journal.journal import Journal
from reactor.journal.schema import FILE_NAME
from reactor.journal.state_directory import (
    REFUSED_FILE,
    Location,
    LockedError,
    StateDirectory,
    StateDirectoryError,
    is_ours,
)
from reactor.journal.store import has_set_aside
from reactor.journal.undo_records import UndoRecord, UndoRecords
from reactor.loading import shown
from reactor.named_tuple import NamedTuple
from reactor.resource.backup_store import state_directory_for
from reactor.resource.base import Resource
from reactor.resource.diagnostic import Diagnostic, ManifestError

_GOES_ON = "the run goes on, but forgets pending refreshes when it ends"

Warn = Callable[[str], None]


class State(NamedTuple):
    """The state that a run can use. A missing part is None.

    ``pending_refreshes`` is for a run without a journal; ``recorded`` is for a dry run, as in `RunOptions`.
    ``complete`` says that all pending refreshes of earlier runs are known.
    """

    directory: StateDirectory | None = None
    journal: Journal | None = None
    backups: Store | None = None
    pending_refreshes: frozenset[str] = frozenset()
    recorded: UndoRecords | None = None
    complete: bool = True

    @property
    def path(self) -> str | None:
        """The path of the state directory; None without one."""
        return None if self.directory is None else self.directory.path

    def journal_refusal(self) -> str:
        """Why the journal can't be written; empty if it can, and without a state directory."""
        if self.journal is not None:
            return self.journal.refusal
        return "" if self.directory is None else "it could not be opened when the run began"


@contextmanager
def open_state(
    location: Location | None, manifest: str, warn: Warn, bad_usage: int, differs: str | None
) -> Iterator[State]:
    """Create, lock and open the state. Ends the command if another run holds it, or an explicit directory can't be used.

    ``differs`` says why that other run can't do the work of this one. If the default directory can't be used, or on a
    disk error, the run goes on without state.
    """
    directory = _locked(location, manifest, warn, bad_usage, differs)
    journal = _journal(directory, manifest, warn) if directory else None
    backups = Store(backups_in(directory.path)) if directory else None
    if directory and journal and backups and not has_set_aside(directory.path):
        backups.hold_only(journal.held())
    try:
        with state_directory_for(directory.path if directory else None):
            if journal:
                yield State(directory, journal, backups, complete=journal.is_complete)
            else:
                yield _without_journal(location, directory, backups, warn)
    finally:
        if journal:
            journal.close()
        if directory:
            directory.release()


@contextmanager
def recording_refused_run(location: Location | None, manifests: tuple[str, ...]) -> Iterator[None]:
    """Record that the run ended by errors before it began, if it did."""
    try:
        yield
    except EndedByErrorsError as error:
        if location is not None:
            from reactor.control.refused_run import record_refused_run

            with suppress(ManifestError):  # a URL that can't be parsed has no name without its credentials
                record_refused_run(location.path, shown(manifests), error.problems)
        raise


@contextmanager
def no_state() -> Iterator[State]:
    """No state, for a run that only monitors."""
    yield State()


@contextmanager
def read_only_state(location: Location | None, manifest: str, warn: Warn) -> Iterator[State]:
    """The pending refreshes of earlier runs, for a dry run. Changes nothing."""
    if location is None:
        yield State()
        return
    with state_directory_for(location.path):
        if os.path.lexists(os.path.join(location.path, FILE_NAME)):
            yield _recovered_copy(location.path, manifest, warn)
        else:
            yield State(recorded=UndoRecords((), manifest, warn))


def _without_journal(
    location: Location | None, directory: StateDirectory | None, backups: Store | None, warn: Warn
) -> State:
    """The state with a journal that can't be written: its pending refreshes are made, maybe again by the next run."""
    if location is None or not is_ours(location.path):
        return State(directory, None, backups)
    from reactor.journal.recovery import recover_copy

    found = recover_copy(location.path)
    pending_refreshes = frozenset(subscriber for _, subscriber in found.pending)
    if pending_refreshes:
        warn(
            f"{', '.join(sorted(pending_refreshes))}: a refresh is pending from an earlier run, and is made now"
        )
    return State(directory, None, backups, pending_refreshes, complete=found.complete)


def _recovered_copy(directory: str, manifest: str, warn: Warn) -> State:
    from reactor.journal.history import History, HistoryError

    try:
        with closing(History(directory, at_once=True)) as history:
            return State(
                pending_refreshes=history.pending_refreshes(),
                recorded=UndoRecords([UndoRecord(*row) for row in history.originals()], manifest, warn),
            )
    except HistoryError as error:
        warn(f"{error}; pending refreshes of earlier runs are not shown")
        return State()


def refuse_own_state(resources: Iterable[Resource], location: Location | None) -> None:
    """Raise ManifestError if resources manage the state directory of reactor itself; it names all of them."""
    if location is None:
        return
    ours = (f"{location.path}/", f"{os.path.realpath(location.path)}/")
    problems = [
        Diagnostic(
            "R0207",
            f"{resource.ref} manages the state directory of reactor itself, {location.path}",
            resource.declared.place,
            "remove it from the manifest, or use another state directory with --state-dir",
        )
        for resource in resources
        if _touches(resource, ours)
    ]
    if problems:
        raise ManifestError(problems)


def _touches(resource: Resource, ours: tuple[str, ...]) -> bool:
    """Whether the resource creates something in one of these directories, or removes it or a directory above."""
    relations = resource.relations()
    for path in relations.provides:
        if f"{path}/".startswith(ours):
            return True
    for path in (*relations.removes, *relations.clears):
        if f"{path}/".startswith(ours) or any(each.startswith(f"{path.rstrip('/')}/") for each in ours):
            return True
    return False


def warn_of_state(state: State, graph: Graph, options: RunOptions, warn: Warn) -> None:
    """Warn of what is lost with the journal, and in a dry run of what a run would undo."""
    if not state.complete:
        _warn_of_lost_refreshes(graph, warn)
    if state.recorded is None or not options.noop or options.partial or options.monitor_only:
        return
    if graph.has_unread_parts:
        return
    reversals, _ = state.recorded.compare(graph.resources, graph.may_have)
    for ref in not_taken(reversals, graph):
        warn(f"{ref} was removed from the manifest, and would be undone")


def _warn_of_lost_refreshes(graph: Graph, warn: Warn) -> None:
    """Warn that pending refreshes of earlier runs are lost with the journal. Name the resources that may need one."""
    subscribers = {edge.second for edge in graph.edges if edge.kind in REFRESHING}
    affected = sorted(ref for ref in subscribers if not graph.resources[ref].declared.members)
    if affected:
        warn(
            f"a pending refresh of {name_some(affected)} may be lost with the journal: "
            "check whether they run with their current configuration"
        )


def _locked(
    location: Location | None, manifest: str, warn: Warn, bad_usage: int, differs: str | None
) -> StateDirectory | None:
    if location is None:
        warn(f"there is no home directory for the state directory, and no --state-dir; {_GOES_ON}")
        return None
    try:
        directory = StateDirectory.make(location.path)
        directory.lock(manifest)
        with suppress(OSError):
            os.unlink(os.path.join(directory.path, REFUSED_FILE))
        remove_private(directory.path)
        remove_old_downloads(directory.path)
    except LockedError as error:
        words = f"{error.hint}; the active run can't do the work of this one, because {differs}"
        hint = None if differs is None else words
        fail_for(error, exitcodes.NOT_CONVERGED, hint=hint)
    except StateDirectoryError as error:
        if location.chosen and not error.sick_disk:
            fail_for(error, bad_usage)
        warn(f"{error.message}; {_GOES_ON}; {error.hint}")
        return None
    return directory


def _journal(directory: StateDirectory, manifest: str, warn: Warn) -> Journal | None:
    try:
        return Journal.open(directory.path, manifest, warn)
    except (OSError, sqlite3.Error) as error:
        warn(f"can't open the journal in {directory.path}: {error}; {_GOES_ON}")
        return None
