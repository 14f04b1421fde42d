"""Journals of tests, and events to put into them."""

import sqlite3
import time
from contextlib import closing, contextmanager

import trio

from reactor.engine.events import Blocked, Cause, Checked, Result
from reactor.journal.history import History
from reactor.journal.journal import Journal

MANIFEST = "/etc/site.yaml"


def told_by(directory, notes=None):
    """Open a journal. What it tells goes to ``notes``, or is an error."""
    return Journal.open(str(directory), MANIFEST, _must_be_silent if notes is None else notes.append)


def _must_be_silent(note):
    raise AssertionError(note)


@contextmanager
def journal_in(directory, notes=None):
    """A journal that is closed at the end."""
    journal = told_by(directory, notes)
    try:
        yield journal
    finally:
        journal.close()


def history_of(directory):
    return closing(History(str(directory)))


def changed(ref="file#/a", *, causes=Cause.DRIFT, moment=None, actions=("updated the content",), **more):
    now = time.time() if moment is None else moment
    return Checked(now, ref, Result.CHANGED, causes, 0.001, actions, **more)


def failed(ref="file#/a", error="no such user", **more):
    return Checked(time.time(), ref, Result.FAILED, Cause.DRIFT, 0.001, error=error, **more)


def ok(ref="file#/a"):
    return Checked(time.time(), ref, Result.OK, Cause.DRIFT, 0.001)


def blocked(ref, *culprits):
    return Blocked(time.time(), ref, culprits)


def owed_on_disk(directory):
    """The pairs that owe a refresh, as another process sees them."""
    with closing(sqlite3.connect(f"file:{directory}/journal.sqlite?mode=ro", uri=True)) as connection:
        return set(
            connection.execute("SELECT source, subscriber FROM refreshes WHERE owed_since IS NOT NULL")
        )


def fold(directory):
    """Bring what is in the WAL into the file, as the last connection that may write does when it closes."""
    with closing(sqlite3.connect(f"file:{directory}/journal.sqlite?mode=rw", uri=True)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def kept_refs(directory):
    with history_of(directory) as history:
        return [entry.ref for entry in history.entries()]


async def wait_for(condition):
    with trio.fail_after(60):
        while not condition():  # noqa: ASYNC110 - another connection sees it, which wakes nobody here
            await trio.sleep(0.005)
