"""The state of a run: its directory, locked, and the journal in it; or less, loudly, when the disk does not let us."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from reactor.backup.store import Store, backups_in
from reactor.cli import exitcodes
from reactor.cli.messages import fail_for
from reactor.hostfs.downloads import remove_old_downloads
from reactor.hostfs.private import remove_private
from reactor.journal.journal import Journal
from reactor.journal.schema import FILE_NAME
from reactor.journal.state_directory import (
    Location,
    LockedError,
    StateDirectory,
    StateDirectoryError,
    is_ours,
)
from reactor.journal.store import has_set_aside
from reactor.resource.backup_store import state_directory_for
from reactor.resource.base import Resource
from reactor.resource.diagnostic import Diagnostic, ManifestError

_GOES_ON = "the run goes on, but forgets what it owes when it ends"

Warn = Callable[[str], None]


class State(NamedTuple):
    """What a run may use: None for what there is not.

    ``owing`` is for a run without a journal, and ``recorded`` for one that changes nothing, as in `Options`.
    ``complete``: nothing is owed from earlier runs that is not known here.
    """

    directory: StateDirectory | None = None
    journal: Journal | None = None
    backups: Store | None = None
    owing: frozenset[str] = frozenset()
    recorded: frozenset[str] | None = None
    complete: bool = True

    @property
    def path(self) -> str | None:
        """Where it is kept, if anywhere."""
        return None if self.directory is None else self.directory.path


@contextmanager
def opened(location: Location | None, manifest: str, warn: Warn, bad_usage: int) -> Iterator[State]:
    """Make, lock and open the state. Ends the command when another run has it, or a chosen place is of no use.

    A default place of no use, or a disk that refuses, costs the memory of the run and not the run.
    """
    directory = _locked(location, manifest, warn, bad_usage)
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
def stateless() -> Iterator[State]:
    """No state, for a run that changes nothing."""
    yield State()


@contextmanager
def remembered(location: Location | None, warn: Warn) -> Iterator[State]:
    """No state, but what earlier runs have left to do, for a run that tells what another would do. Touches nothing."""
    if location is None:
        yield State()
        return
    with state_directory_for(location.path):
        if os.path.lexists(os.path.join(location.path, FILE_NAME)):
            yield _recollected(location.path, warn)
        else:
            yield State(recorded=frozenset())


def _without_journal(
    location: Location | None, directory: StateDirectory | None, backups: Store | None, warn: Warn
) -> State:
    """What a journal holds that can't be written is still owed: it is done, and maybe once more by the next run."""
    if location is None or not is_ours(location.path):
        return State(directory, None, backups)
    from reactor.journal.recovery import recollect

    found = recollect(location.path)
    owing = frozenset(subscriber for _, subscriber in found.owed)
    if owing:
        warn(f"{', '.join(sorted(owing))} owed a refresh from earlier runs, and gets it now")
    return State(directory, None, backups, owing, complete=found.complete)


def _recollected(directory: str, warn: Warn) -> State:
    from reactor.journal.history import History, HistoryError

    try:
        with closing(History(directory, at_once=True)) as history:
            return State(owing=history.owing(), recorded=history.recorded())
    except HistoryError as error:
        warn(f"{error}; refreshes that are owed from earlier runs are not told")
        return State()


def refuse_managed(resources: Iterable[Resource], location: Location | None) -> None:
    """A manifest that manages our own files is an error. Raises ManifestError with every such resource."""
    if location is None:
        return
    ours = (f"{location.path}/", f"{os.path.realpath(location.path)}/")
    problems = [
        Diagnostic(
            "R0207",
            f"{resource.ref} manages the state directory of reactor itself, {location.path}",
            resource.declared.place,
            "leave it out of the manifest, or name another state directory with --state-dir",
        )
        for resource in resources
        if _touches(resource, ours)
    ]
    if problems:
        raise ManifestError(problems)


def _touches(resource: Resource, ours: tuple[str, ...]) -> bool:
    """Whether it makes something in one of these directories, or removes that or what holds it."""
    relations = resource.relations()
    for path in relations.provides:
        if f"{path}/".startswith(ours):
            return True
    for path in (*relations.removes, *relations.clears):
        if f"{path}/".startswith(ours) or any(each.startswith(f"{path.rstrip('/')}/") for each in ours):
            return True
    return False


def _locked(location: Location | None, manifest: str, warn: Warn, bad_usage: int) -> StateDirectory | None:
    if location is None:
        warn(f"you have no home directory to keep state in, and --state-dir is not given; {_GOES_ON}")
        return None
    try:
        directory = StateDirectory.make(location.path)
        directory.lock(manifest)
        remove_private(directory.path)
        remove_old_downloads(directory.path)
    except LockedError as error:
        fail_for(error, exitcodes.NOT_CONVERGED)
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
