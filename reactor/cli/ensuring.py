"""What the commands about one resource share: the session of the script, and where former contents are kept."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from reactor.cli import exitcodes
from reactor.cli.running import complain, warn
from reactor.engine.events import Cause, Checked, Event, Result, Skipped

if TYPE_CHECKING:
    from reactor.backup.store import Store
    from reactor.ensure.entry import Entry
    from reactor.ensure.sessions import Ensured, Outlook, Session
    from reactor.journal.state_directory import Location

ENVIRONMENT_VARIABLE = "REACTOR_SESSION"
_BEGIN = 'begin one: eval "$(reactor session new)"'


def session_of(option: str | None) -> Session | None:
    """The session that is named, by the option or in the environment. Ends the command when there is no such one."""
    directory = option or os.environ.get(ENVIRONMENT_VARIABLE)
    if not directory:
        return None
    from reactor.ensure.sessions import Session

    if not os.path.isdir(directory):
        complain(f"there is no session {directory}", _BEGIN)
        raise click.exceptions.Exit(exitcodes.BAD_USAGE)
    return Session(os.path.abspath(directory))


def needed(session: Session | None, why: str) -> Session:
    """The session, which must be there. Raises UsageError."""
    if session is None:
        raise click.UsageError(f"{why}; {_BEGIN}")
    return session


@contextmanager
def trusting(session: Session | None) -> Iterator[None]:
    """Tell when the session can't be read, and end the command."""
    from reactor.journal.history import HistoryError

    try:
        yield
    except (HistoryError, sqlite3.Error, OSError) as error:
        where = session.directory if session else ""
        complain(f"the session {where} is of no use: {error}", _BEGIN)
        raise click.exceptions.Exit(exitcodes.BAD_USAGE) from error


def outlook_of(entry: Entry, session: Session | None, *, noop: bool) -> Outlook:
    """What has happened in the session to what the entry refers to. Raises UnknownNameError, and UsageError without one."""
    from reactor.ensure.sessions import Outlook, outlook

    if not (entry.require or entry.subscribe):
        return Outlook()
    session = needed(session, "require and subscribe look back into a session, and there is none")
    return outlook(session.past(), entry.resource.ref, entry.require, entry.subscribe, noop=noop)


def backups_of(location: Location | None) -> Store | None:
    """Where what files held is kept, as a run does. A state directory of no use costs that, and not the change."""
    from reactor.backup.store import Store, backups_in
    from reactor.journal.state_directory import StateDirectory, StateDirectoryError

    if location is None:
        return None
    try:
        return Store(backups_in(StateDirectory.make(location.path).path))
    except StateDirectoryError as error:
        warn(f"{error.message}; what files held before is not kept; {error.hint}")
        return None


def ensured(entry: Entry, events: Sequence[Event], *, noop: bool) -> Ensured | None:
    """How the attempt at the entry ended, by its events; None when it came to nothing."""
    from reactor.ensure.sessions import Ensured

    ref, alias = entry.resource.ref, entry.resource.alias
    for event in reversed(events):
        if isinstance(event, Checked) and event.ref == ref:
            refreshed = Cause.REFRESH in event.causes and event.result in (Result.CHANGED, Result.WOULD_CHANGE)
            return Ensured(event.time, ref, alias, event.result, refreshed, noop, event.error)
        if isinstance(event, Skipped) and event.ref == ref:
            return Ensured(event.time, ref, alias, Result.SKIPPED, noop=noop)
    return None
