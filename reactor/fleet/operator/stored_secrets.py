"""Which secrets there are, which hosts should have them, and which hosts have them. No value is read here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from reactor.fleet.bucket_names import SECRETS
from reactor.fleet.documents import DocumentError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.sealed_secret import OPERATORS, SealedSecret


@dataclass(frozen=True)
class StoredSecrets:
    """``wanted``: name -> the expression that chooses its hosts; ``held``: host -> the names that are stored for it."""

    wanted: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, frozenset[str]] = field(default_factory=dict)


async def read_stored_secrets(js: JetStream) -> StoredSecrets:
    """Read the names, and no value. Raises LinkError."""
    bucket = js.key_value(SECRETS)
    wanted = {}
    for entry in await bucket.entries(f"{OPERATORS}.*"):
        with suppress(DocumentError):
            wanted[entry.key.partition(".")[2]] = SealedSecret.from_bytes(entry.value).where
    if not wanted:
        return StoredSecrets()
    held: dict[str, set[str]] = {}
    for key in await bucket.keys():
        host, _, name = key.partition(".")
        if host != OPERATORS:
            held.setdefault(host, set()).add(name)
    return StoredSecrets(
        dict(sorted(wanted.items())), {host: frozenset(names) for host, names in held.items()}
    )
