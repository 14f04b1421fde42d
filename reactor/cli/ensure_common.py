"""What the commands about one resource share: the session of the script, and where former contents are kept."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reactor.cli import exitcodes
from reactor.cli.ccm_options import SESSION_VARIABLE
from reactor.cli.messages import fail, warn
from reactor.engine.events import Cause, Checked, Event, Result, Skipped

if TYPE_CHECKING:
    from reactor.backup.store import Store
    from reactor.ensure.entry import Entry
    from reactor.ensure.sessions import Ensured, Outlook, Session
    from reactor.journal.state_directory import Location

ENVIRONMENT_VARIABLE = "REACTOR_SESSION"
BEGIN = 'begin one: eval "$(reactor session new)"'


def named_session() -> str | None:
    """The session that the environment names, ours or CCM's way."""
    return os.environ.get(ENVIRONMENT_VARIABLE) or os.environ.get(SESSION_VARIABLE) or None


def session_of(option: str | None, bad_usage: int = exitcodes.BAD_USAGE) -> Session | None:
    """The session that is named, by the option or in the environment. Ends the command when there is no such one."""
    directory = option or named_session()
    if not directory:
        return None
    from reactor.ensure.sessions import Session
    from reactor.journal.state_directory import StateDirectory, StateDirectoryError

    if not os.path.isdir(directory):
        fail("R0607", f"there is no session {directory}", BEGIN, bad_usage)
    try:
        return Session(StateDirectory.make(os.path.abspath(directory)).path)
    except StateDirectoryError as error:  # others may write to it
        fail("R0607", error.message, BEGIN, bad_usage)


@contextmanager
def trusting(bad_usage: int = exitcodes.BAD_USAGE) -> Iterator[None]:
    """Tell when the session can't be used, and end the command."""
    from reactor.journal.history import HistoryError

    try:
        yield
    except (HistoryError, sqlite3.Error, OSError) as error:
        fail("R0607", f"the session is of no use: {error}", BEGIN, bad_usage)


def outlook_of(entry: Entry, session: Session | None, *, noop: bool) -> Outlook:
    """What the session means for the entry. Raises UnknownNameError for a name that it, or no session, knows."""
    from reactor.ensure.sessions import UnknownNameError, outlook

    names = (*entry.require, *entry.subscribe)
    if names and session is None:
        raise UnknownNameError(names[0], f"only a session knows what was done before; {BEGIN}")
    past = session.past() if names and session else []
    return outlook(past, entry.resource.ref, entry.require, entry.subscribe, noop=noop)


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
            changed = event.result in (Result.CHANGED, Result.WOULD_CHANGE)
            by_members = bool(
                entry.resource.declared.members
            )  # what stands for others hears of them as of a refresh
            refreshed = changed and Cause.REFRESH in event.causes and not by_members
            touched = event.result is Result.FAILED and bool(event.actions)
            return Ensured(
                event.time, ref, alias, event.result, refreshed, noop, event.error, touched=touched
            )
        if isinstance(event, Skipped) and event.ref == ref:
            return Ensured(event.time, ref, alias, Result.SKIPPED, noop=noop)
    return None


def blocked(entry: Entry, culprits: tuple[str, ...], *, noop: bool) -> Ensured:
    """That nothing was attempted, because of ``culprits``."""
    from reactor.ensure.sessions import Ensured

    resource = entry.resource
    return Ensured(time.time(), resource.ref, resource.alias, Result.BLOCKED, noop=noop, culprits=culprits)
