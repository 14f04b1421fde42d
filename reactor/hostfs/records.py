"""Stores small records of a kind in the state directory, so that users who can write beside a managed file can't."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from reactor.atomic_write import replace_file
from reactor.resource.backup_store import state_directory
from reactor.resource.hashes import blake2b

_FOLDER = "records"
_MODE = 0o600


def write_record(kind: str, name: str, record: Mapping[str, Any]) -> None:
    """Store ``record`` for the resource of this ``kind`` with this ``name``; it is on the disk when this returns.

    Does nothing without a state directory. Raises OSError.
    """
    if (path := _path_of(kind, name)) is not None:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        replace_file(path, json.dumps(record).encode(), _MODE)


def read_record(kind: str, name: str) -> dict[str, Any] | None:
    """The stored record; None if there is none, or it can't be read."""
    if (path := _path_of(kind, name)) is None:
        return None
    try:
        with open(path, "rb") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def forget_record(kind: str, name: str) -> None:
    """Remove the stored record, if there is one."""
    if (path := _path_of(kind, name)) is not None:
        with suppress(OSError):  # harmless: it applies only to the same bytes
            os.unlink(path)


def state_folder(kind: str) -> str | None:
    """The path of a directory for files of this ``kind`` in the state directory; None without a state directory.

    Only its owner may enter it. It need not exist yet.
    """
    above = state_directory.get()
    return None if above is None else f"{above}/{kind}"


def _path_of(kind: str, name: str) -> str | None:
    above = state_directory.get()
    if above is None:
        return None
    digest = blake2b(os.fsencode(name), digest_size=16).hexdigest()
    return f"{above}/{_FOLDER}/{kind}-{digest}.json"
