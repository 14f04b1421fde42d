"""The session, the backup store and the result, shared by the commands for one resource."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reactor.cli import exitcodes
from reactor.cli.messages import fail, warn
from reactor.cli.options.ccm import SESSION_VARIABLE
from reactor.engine.events import Cause, Checked, Event, Result, Skipped

if TYPE_CHECKING:
    from reactor.backup.store import Store
    from reactor.ensure.entry import Entry
    from reactor.ensure.sessions import Ensured, Prerequisites, Session
    from reactor.journal.state_directory import Location

ENVIRONMENT_VARIABLE = "REACTOR_SESSION"
BEGIN = 'start one: eval "$(reactor session new)"'


def named_session() -> str | None:
    """The session in the environment: $REACTOR_SESSION, or the variable of CCM."""
    return os.environ.get(ENVIRONMENT_VARIABLE) or os.environ.get(SESSION_VARIABLE) or None


def session_of(option: str | None, bad_usage: int = exitcodes.BAD_USAGE) -> Session | None:
    """The session of the option or the environment; None without one. Ends the command if it does not exist."""
    directory = option or named_session()
    if not directory:
        return None
    from reactor.ensure.sessions import Session
    from reactor.journal.state_directory import StateDirectory, StateDirectoryError

    if not os.path.isdir(directory):
        fail("R0607", f"there is no session {directory}", BEGIN, bad_usage)
    try:
        return Session(StateDirectory.make(os.path.abspath(directory)).path)
    except StateDirectoryError as error:  # other users may write to it
        fail("R0607", error.message, BEGIN, bad_usage)


@contextmanager
def reporting_session_errors(bad_usage: int = exitcodes.BAD_USAGE) -> Iterator[None]:
    """End the command if the session can't be read or written."""
    from reactor.journal.history import HistoryError

    try:
        yield
    except (HistoryError, sqlite3.Error, OSError) as error:
        fail("R0607", f"the session can't be used: {error}", BEGIN, bad_usage)


def session_prerequisites(entry: Entry, session: Session | None, *, noop: bool) -> Prerequisites:
    """Whether the resources that the entry requires succeeded, and whether one that it subscribes to has changed.

    Raises UnknownNameError for a name that is not in the session, or without a session.
    """
    from reactor.ensure.sessions import UnknownNameError, prerequisites

    names = (*entry.require, *entry.subscribe)
    if names and session is None:
        raise UnknownNameError(names[0], f"references need a session; {BEGIN}")
    past = session.past() if names and session else []
    return prerequisites(past, entry.resource.ref, entry.require, entry.subscribe, noop=noop)


def backups_of(location: Location | None) -> Store | None:
    """The backup store, as in ``reactor run``. Without a usable state directory there is no backup, but the change is made."""
    from reactor.backup.store import Store, backups_in
    from reactor.journal.state_directory import StateDirectory, StateDirectoryError

    if location is None:
        return None
    try:
        return Store(backups_in(StateDirectory.make(location.path).path))
    except StateDirectoryError as error:
        warn(f"{error.message}; files are not backed up; {error.hint}")
        return None


def ensured(entry: Entry, events: Sequence[Event], *, noop: bool) -> Ensured | None:
    """The result of the entry, from the events; None if it was not checked."""
    from reactor.ensure.sessions import Ensured

    ref, alias = entry.resource.ref, entry.resource.alias
    for event in reversed(events):
        if isinstance(event, Checked) and event.ref == ref:
            changed = event.result in (Result.CHANGED, Result.WOULD_CHANGE)
            # A composite is refreshed when its members change.
            by_members = bool(entry.resource.declared.members)
            refreshed = changed and Cause.REFRESH in event.causes and not by_members
            touched = event.result is Result.FAILED and bool(event.actions)
            return Ensured(
                event.time, ref, alias, event.result, refreshed, noop, event.error, touched=touched
            )
        if isinstance(event, Skipped) and event.ref == ref:
            return Ensured(event.time, ref, alias, Result.SKIPPED, noop=noop)
    return None


def blocked(entry: Entry, culprits: tuple[str, ...], *, noop: bool) -> Ensured:
    """The result of a resource that is blocked by ``culprits``."""
    from reactor.ensure.sessions import Ensured

    resource = entry.resource
    return Ensured(time.time(), resource.ref, resource.alias, Result.BLOCKED, noop=noop, culprits=culprits)
