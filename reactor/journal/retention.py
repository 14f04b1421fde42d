"""How long the journal keeps events, and how it deletes the old ones."""

from __future__ import annotations

import math
import sqlite3
import time

from reactor.clock import is_settled
from reactor.journal.diffs import DiffTable
from reactor.journal.schema import has_table

ROW_LIMIT = 100_000
"""The largest number of events that are kept."""

BYTE_LIMIT = 256 << 20
"""The largest size of the file, in bytes. Beyond it, the oldest events are deleted."""

AGE_LIMIT = 90 * 86400.0
"""Seconds for which an event is kept."""

DIGEST_LIMIT = 100_000
"""The largest number of digests that are kept of resources that are not in the manifest."""

PRUNE_EVERY = 1000
"""Rows written between two checks of the limits."""

_PRUNED_AT_ONCE = 5000

_DELETE_DIGESTS = """
DELETE FROM resources WHERE ref IN
(SELECT ref FROM resources WHERE NOT in_force(ref) ORDER BY applied DESC LIMIT -1 OFFSET ?)
"""

# The ids have no gaps. SQLite looks up one minimum or maximum in a query, and reads the whole file for two.
_COUNT = "SELECT coalesce((SELECT max(id) FROM events) - (SELECT min(id) FROM events) + 1, 0)"

_DELETE_OLDEST = "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT ?)"
_DELETE_OLD = """
DELETE FROM events
WHERE id IN (SELECT id FROM (SELECT id, time FROM events ORDER BY id LIMIT ?) WHERE time < ?)
"""

# Deletes the generations before that of the oldest event. Numbers only grow, so the oldest event has the smallest;
# a search for the minimum would read the whole file.
_DELETE_GENERATIONS = """
DELETE FROM generations
WHERE id < (SELECT generation FROM events WHERE generation IS NOT NULL ORDER BY id LIMIT 1)
"""


def prune(connection: sqlite3.Connection, in_force: int, diffs: DiffTable) -> None:
    """Delete the oldest events beyond the limits, in portions, so that no batch takes long.

    ``in_force`` is the number of resources in the manifest; the SQL function of this name knows their refs.
    """
    execute = connection.execute
    horizon = time.time() - AGE_LIMIT if is_settled() else -math.inf
    if has_table(connection, "sent"):
        from reactor.journal.sent_events import counting_losses  # noqa: PLC0415 - most hosts send no events

        with counting_losses(connection):
            _prune_events(connection, horizon)
    else:
        _prune_events(connection, horizon)
    _prune_digests(connection, horizon, in_force)
    execute("DELETE FROM refreshes WHERE owed_since IS NULL AND coalesce(paid, 0) < ?", (horizon,))
    execute(_DELETE_GENERATIONS)
    diffs.prune()
    execute("PRAGMA incremental_vacuum(1000)").fetchall()


def _prune_events(connection: sqlite3.Connection, horizon: float) -> None:
    execute = connection.execute
    oldest = execute("SELECT time FROM events ORDER BY id LIMIT 1").fetchone()
    if oldest and oldest[0] < horizon:
        execute(_DELETE_OLD, (_PRUNED_AT_ONCE, horizon))
    surplus = execute(_COUNT).fetchone()[0] - ROW_LIMIT
    if surplus > 0 or _bytes(connection) > BYTE_LIMIT:
        execute(_DELETE_OLDEST, (max(surplus, _PRUNED_AT_ONCE),))


def _prune_digests(connection: sqlite3.Connection, horizon: float, in_force: int) -> None:
    """Delete digests of resources that are not in the manifest: the old ones, and the oldest beyond the limit."""
    connection.execute("DELETE FROM resources WHERE applied < ? AND NOT in_force(ref)", (horizon,))
    (count,) = connection.execute("SELECT count(*) FROM resources").fetchone()
    if count > DIGEST_LIMIT + in_force:
        connection.execute(_DELETE_DIGESTS, (DIGEST_LIMIT,))


def _bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
