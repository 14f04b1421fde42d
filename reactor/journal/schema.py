"""The tables of the journal, and how its database is opened."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing, suppress
from urllib.parse import quote

from reactor.journal.diffs import DIFFS

FILE_NAME = "journal.sqlite"
APPLICATION = 0x72656163
"""Marks an SQLite file as a journal of ours: "reac"."""

VERSION = 2

_NEW = ".new"
_WAL_HEADER = 32
_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""How one begins, by the byte order of its checksums: https://www.sqlite.org/fileformat2.html#walformat."""

_TABLES = """
CREATE TABLE generations (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    manifest TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    event TEXT NOT NULL,
    ref TEXT,
    result TEXT,
    generation INTEGER,
    record TEXT NOT NULL
);
CREATE INDEX events_of_ref ON events (ref, id, result) WHERE ref IS NOT NULL;
CREATE INDEX troubles ON events (ref) WHERE result IN ('failed', 'blocked');
CREATE TABLE refreshes (
    source TEXT NOT NULL,
    subscriber TEXT NOT NULL,
    owed_since REAL,
    paid REAL,
    PRIMARY KEY (source, subscriber)
) WITHOUT ROWID;
CREATE TABLE resources (
    ref TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    applied REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE originals (
    id INTEGER PRIMARY KEY,
    ref TEXT NOT NULL UNIQUE,
    manifest TEXT NOT NULL,
    kind TEXT,
    properties TEXT
);
"""

_ALIASES = """
CREATE TABLE IF NOT EXISTS aliases (
    name TEXT PRIMARY KEY,
    ref TEXT NOT NULL
) WITHOUT ROWID;
"""
"""Only for people who ask: a journal of before has none, and is as good."""

MEMBERS = "CREATE TABLE IF NOT EXISTS members (ref TEXT NOT NULL)"
"""Who is in the newest generation. It is made when that is first written: without it, nobody knows."""

KNOWN = "SELECT ref FROM resources UNION SELECT ref FROM events WHERE ref IS NOT NULL"
"""The query for every ref that anything is known of."""


class UnusableError(Exception):
    """The file is there and is no journal that this version can use."""


def address(path: str, mode: str) -> str:
    """The URI of the database at ``path``, for SQLite to open in ``mode``: ``ro``, or ``rw`` to create none."""
    return f"file:{quote(os.fsencode(path))}?mode={mode}"


def open_for_writing(path: str) -> sqlite3.Connection:
    """Open the journal, made where missing, readable by its owner only.

    Raises UnusableError for a file of another kind or a newer version, sqlite3.DatabaseError for a broken one and
    sqlite3.OperationalError when the disk refuses.
    """
    _create(path)
    # Commits are our own affair (isolation_level), and different threads use it, one at a time.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: str) -> None:
    """Make it where it is missing. One that is there and empty has lost what it held: a new one never is."""
    if not os.path.lexists(path):
        _make_whole(path)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except IsADirectoryError as error:
        raise UnusableError("it is not a file") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnusableError("it is a symbolic link") from error
        raise
    found = os.fstat(descriptor)
    os.close(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise UnusableError("it is not a regular file")
    if not found.st_size:
        raise UnusableError("it is empty")
    if is_garbage(f"{path}-wal"):
        raise UnusableError("its write-ahead log is damaged")


def is_garbage(wal: str) -> bool:
    """Whether the write-ahead log ``wal`` holds something that SQLite would pass over in silence."""
    try:
        with open(wal, "rb") as file:
            head = file.read(_WAL_HEADER)
    except FileNotFoundError:
        return False
    return len(head) == _WAL_HEADER and head[:4] not in _WAL_MAGIC


def _make_whole(path: str) -> None:
    """SQLite would create it for everybody to read. Its companions, the WAL and the index of that, inherit the mode."""
    new = f"{path}{_NEW}"
    with suppress(FileNotFoundError):  # a run was killed just here
        os.unlink(new)
    os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        # There is nothing yet that a rollback could bring back: a file for that would be three waits for the disk.
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.executescript(
            f"BEGIN; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {_TABLES} COMMIT;"
        )
    os.rename(new, path)


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")  # what has to be on the disk at once asks for more
    refuse_foreign(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    if not has_table(connection, "refreshes"):
        raise UnusableError("its tables are missing, as when its write-ahead log is lost")
    connection.execute(_ALIASES)
    connection.execute(DIFFS)
    connection.execute("PRAGMA journal_size_limit = 4194304")


def provide_later_tables(connection: sqlite3.Connection) -> None:
    """Let a connection that only reads find what a file of before lacks: no aliases and no diffs, and all that is known as members."""
    connection.execute("PRAGMA temp_store = MEMORY")
    if not has_table(connection, "aliases"):
        connection.execute(_ALIASES.replace("TABLE", "TEMP TABLE"))
    if not has_table(connection, "diffs"):
        connection.execute(DIFFS.replace("TABLE", "TEMP TABLE"))
    if not has_table(connection, "members"):
        connection.execute(f"CREATE TEMP VIEW members AS {KNOWN}")


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether the file has that table."""
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone())


def refuse_foreign(connection: sqlite3.Connection) -> None:
    """Raises UnusableError for a database that is not a journal of this version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise UnusableError("it is an SQLite database of another program")
    if version != VERSION:
        raise UnusableError(f"it has format {version}, and this version of reactor knows format {VERSION}")
