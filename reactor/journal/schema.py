"""The tables of the journal, and functions that open its database and insert rows."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import chain
from typing import Any

from reactor.journal.event_search import create_index

FILE_NAME = "journal.sqlite"
APPLICATION = 0x72656163
"""The application id that marks an SQLite file as a journal: "reac"."""

VERSION = 2

_NEW = ".new"
_UNRESERVED = frozenset(b"/-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""The bytes that mean themselves in the path of a URI, by RFC 3986, and the slash."""
_WAL_HEADER = 32
_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""The first bytes of a WAL, by the byte order of its checksums: https://www.sqlite.org/fileformat2.html#walformat."""

DIFFS = """
CREATE TABLE IF NOT EXISTS diffs (
    event INTEGER PRIMARY KEY,
    size INTEGER NOT NULL,
    texts TEXT NOT NULL
);
"""
"""``event`` is the id of the event. ``size`` comes before ``texts``, so that a sum of the sizes reads no texts."""

DIFF_SIZE = """
CREATE TABLE IF NOT EXISTS diff_size (
    id INTEGER PRIMARY KEY,
    newest INTEGER NOT NULL,
    size INTEGER NOT NULL
);
"""
"""One row: the sum of the sizes of all diffs, and the newest of them when it was written."""

ORIGINALS = "SELECT ref, manifest, kind, properties FROM originals ORDER BY id"
"""Reads the states before the first change, the first changed first."""

_ROWS_AT_ONCE = 1000
"""The most rows of one statement."""

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
"""Only commands use this table; an older journal without it is still valid."""

MEMBERS = "CREATE TABLE IF NOT EXISTS members (ref TEXT NOT NULL)"
"""The refs of the newest generation. The first write of a generation creates it; without it, the refs are unknown."""

KNOWN = "SELECT ref FROM resources UNION SELECT ref FROM events WHERE ref IS NOT NULL"
"""The query for every known ref."""


class UnusableError(Exception):
    """The file is not a journal that this version can use."""


def address(path: str, mode: str) -> str:
    """The SQLite URI of the database at ``path`` in ``mode``: ``ro``, or ``rw``, which does not create it."""
    # Not urllib.parse.quote: its import takes longer than all that a proven run does with the journal.
    escaped = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in os.fsencode(path))
    return f"file:{escaped}?mode={mode}"


def open_for_writing(path: str) -> sqlite3.Connection:
    """Open the journal, or create it, readable by its owner only.

    Raises UnusableError for a file of another program or a newer version, sqlite3.DatabaseError for a damaged one, and
    sqlite3.OperationalError for an error of the disk.
    """
    _create(path)
    # isolation_level=None: we commit ourselves. Different threads use the connection, one at a time. A statement that is
    # cached keeps the values that it wrote: after a first run of 10,000 files, those of its last batches took 10 MB.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=0)
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def close_without_checkpoint(connection: sqlite3.Connection, path: str) -> None:
    """Close the connection to the journal at ``path``, and leave the WAL as it is.

    The last connection that closes would copy the WAL into the file, and wait for the disk longer than a run that
    changes nothing takes. A read-only connection does not do that.
    """
    with (
        suppress(sqlite3.Error),
        closing(connection) as writer,
        closing(sqlite3.connect(address(path, "ro"), uri=True)) as reader,
    ):
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        writer.close()


def _create(path: str) -> None:
    """Create the file if it is missing. An empty file is unusable: it has lost its content, as no new file is empty."""
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
    """Whether the write-ahead log ``wal`` has content that SQLite would silently ignore."""
    try:
        with open(wal, "rb") as file:
            head = file.read(_WAL_HEADER)
    except FileNotFoundError:
        return False
    return len(head) == _WAL_HEADER and head[:4] not in _WAL_MAGIC


def _make_whole(path: str) -> None:
    """Create the file with mode 0600: SQLite would make it readable for all. The WAL and its index inherit the mode."""
    new = f"{path}{_NEW}"
    with suppress(FileNotFoundError):  # left by a run that was killed here
        os.unlink(new)
    os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        # A new file has nothing to roll back, and a rollback file would wait for the disk three times.
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.executescript(
            f"BEGIN; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {_TABLES} COMMIT;"
        )
    os.rename(new, path)


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")  # a durable write sets more, for itself
    refuse_foreign(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    if not has_table(connection, "refreshes"):
        raise UnusableError("its tables are missing, as when its write-ahead log is lost")
    create_index(connection)
    connection.execute(_ALIASES)
    connection.execute(DIFFS)
    connection.execute(DIFF_SIZE)
    connection.execute("PRAGMA journal_size_limit = 4194304")
    connection.execute("PRAGMA cache_size = -400")  # kB; the kernel caches the file, too


def provide_later_tables(connection: sqlite3.Connection) -> None:
    """Give a read-only connection the tables that an older file lacks: empty aliases and diffs, and all known refs as members."""
    connection.execute("PRAGMA temp_store = MEMORY")
    if not has_table(connection, "aliases"):
        connection.execute(_ALIASES.replace("TABLE", "TEMP TABLE"))
    if not has_table(connection, "diffs"):
        connection.execute(DIFFS.replace("TABLE", "TEMP TABLE"))
    if not has_table(connection, "members"):
        connection.execute(f"CREATE TEMP VIEW members AS {KNOWN}")


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether the file has the table ``name``."""
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone())


def refuse_foreign(connection: sqlite3.Connection) -> None:
    """Raise UnusableError for a database that is not a journal of this version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise UnusableError("it is an SQLite database of another program")
    if version != VERSION:
        raise UnusableError(f"it has format {version}, and this version of reactor knows format {VERSION}")


def insert(connection: sqlite3.Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Execute ``statement``, an INSERT without its VALUES, for ``rows`` of the same length. Raises sqlite3.Error.

    The lock of Python's interpreter is given up and taken again for each call of SQLite. With one call for each row, a
    thread that writes and the event loop would take turns for every row, which costs more than the rows: with a hundred
    rows in a call, a first run of 10,000 files takes 4 % longer than with a thousand.
    """
    if not rows:
        return
    columns = len(rows[0])
    places = f"({','.join('?' * columns)})"
    at_once = min(_ROWS_AT_ONCE, connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // columns)
    for first in range(0, len(rows), at_once):
        some = rows[first : first + at_once]
        values = [*chain.from_iterable(some)]
        connection.execute(f"{statement} VALUES {','.join([places] * len(some))}", values)
