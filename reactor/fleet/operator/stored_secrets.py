"""Lists the secrets, the hosts that should have each, and the hosts that have it. Reads no value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from reactor.fleet.bucket_names import SECRETS
from reactor.fleet.documents import DocumentError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.key_value import Entry
from reactor.fleet.sealed_secret import OPERATORS, SealedSecret


@dataclass(frozen=True)
class StoredSecrets:
    """``wanted``: name -> the expression that chooses its hosts; ``held``: host -> the names of its secrets."""

    wanted: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, frozenset[str]] = field(default_factory=dict)


async def read_stored_secrets(js: JetStream) -> StoredSecrets:
    """Read the names, but no value. Raises LinkError."""
    bucket = js.key_value(SECRETS)
    wanted: dict[str, str] = {}
    for entry in await bucket.entries(f"{OPERATORS}.*"):
        with suppress(DocumentError):
            wanted[entry.key] = where_in(entry)
    if not wanted:
        return StoredSecrets()
    return stored_secrets(wanted, await bucket.keys())


def where_in(entry: Entry) -> str:
    """Return the expression in a copy for operators. Raises DocumentError."""
    return SealedSecret.from_bytes(entry.value).where


def stored_secrets(operators: Mapping[str, str], keys: Iterable[str]) -> StoredSecrets:
    """Interpret the keys of the bucket. ``operators``: key of a copy for operators -> the expression in it."""
    wanted = {key.partition(".")[2]: where for key, where in sorted(operators.items())}
    held: dict[str, set[str]] = {}
    for key in keys:
        host, _, name = key.partition(".")
        if host != OPERATORS:
            held.setdefault(host, set()).add(name)
    return StoredSecrets(wanted, {host: frozenset(names) for host, names in held.items()})
