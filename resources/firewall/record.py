"""The record of a table in the state directory: the rules that were set, their normal form, and the confirmed ones.

The form that reads back right after an accepted transaction is the normal form of its rules, until another program
changes the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from reactor.hostfs import read_record, write_record
from reactor.resources.firewall.nft import text_of
from reactor.resources.firewall.ruleset import Line

_KIND: Final = "firewall"


class Record(NamedTuple):
    """``rules`` were set last and read back as ``form``; ``confirmed`` are the rules that were confirmed last."""

    rules: str = ""
    form: str = ""
    confirmed: str = ""


def digest_of(lines: Sequence[Line]) -> str:
    """The name of these rules in records and in the names of files."""
    return blake2b(text_of(lines).encode(), digest_size=8).hexdigest()


def load(table: str) -> Record:
    """The record of the table; an empty one if there is none."""
    found = read_record(_KIND, table) or {}
    return Record(*(str(found.get(name, "")) for name in Record._fields))


def save(table: str, record: Record) -> None:
    """Keep the record. A repair changes nothing of it, and does not wait for the disk. Raises OSError."""
    if record != load(table):
        write_record(_KIND, table, record._asdict())
