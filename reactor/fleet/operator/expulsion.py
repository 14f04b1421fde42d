"""Expels hosts: their keys are revoked on the servers, and their stored data are deleted."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from reactor.fleet.bucket_names import HOSTS, SECRETS, SHARED, SLOTS
from reactor.fleet.documents import DocumentError, is_host_id
from reactor.fleet.enrolment.card import CardError
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.errors import ApiError, LinkError, NoAnswerError, WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.key_value import Entry, KeyValue, is_key
from reactor.fleet.operator.account_update import Confirmations
from reactor.fleet.operator.accounts import revoked_in
from reactor.fleet.operator.errors import RefusedError
from reactor.fleet.operator.revocation import revoke_users
from reactor.fleet.operator.server_config import OperatorDirectory
from reactor.fleet.operator.views import read_host_specs

_AHEAD = 31 * 86_400
"""A revoked key stays so for JWTs that are issued this many seconds later: longer than a token is good."""
_FORGOTTEN = 62 * 86_400
"""Seconds after which a revocation is dropped: by then, all JWTs for the key have expired."""
_ATTEMPTS = 5


async def expel(js: JetStream, files: OperatorDirectory, host: str, *, rejoins: bool) -> Confirmations | None:
    """Revoke the keys of a host, and delete its stored data, except its last summary. Raises RefusedError, LinkError.

    ``rejoins``: it may join again under its name, with new keys. Returns which servers have revoked its keys; None if no key
    is known, as of a host that was admitted before there were cards.
    """
    bucket = js.key_value(HOSTS)
    for _ in range(_ATTEMPTS):
        entry = await bucket.get(host) if is_host_id(host) else None
        if entry is None:
            raise RefusedError(f"there is no host {host}", "see reactor fleet status")
        spec = HostSpec.from_bytes(entry.value, host)
        keys = _keys_in(await _history(bucket, entry), files.keys.cards.public)
        revoked = await revoke(files, keys) if keys else None
        try:
            await bucket.update(host, _expelled(spec, keys, rejoins=rejoins).to_bytes(), entry.revision)
            await _delete_values(js, host)
        except WrongRevisionError:
            continue
        except LinkError as error:
            if revoked is None:
                raise
            words = f"the keys of {host} are revoked, and what the servers store of it stays: {error.message}"
            raise RefusedError(
                words, "run this again when the servers take changes: reactor fleet doctor"
            ) from error
        return revoked
    raise RefusedError(f"others change the host {host} all the time", "try again")


def _expelled(spec: HostSpec, keys: Sequence[str], *, rejoins: bool) -> HostSpec:
    """What stays of a spec: for a host that joins again, also its hold and its pins."""
    new = spec if rejoins else HostSpec(spec.host)
    return replace(
        new,
        channels=(),
        groups=(),
        card=None,
        expelled=time.time() if spec.expelled is None else spec.expelled,
        rejoins=rejoins,
        revoked_keys=tuple(dict.fromkeys((*spec.revoked_keys, *keys)))[-20:],
    )


async def _history(bucket: KeyValue, newest: Entry) -> list[Entry]:
    """What is kept of a host; only the newest while the servers have no leader, because its key must be revoked then, too."""
    try:
        return await bucket.history(newest.key)
    except (NoAnswerError, ApiError):
        return [newest]


def _keys_in(entries: Iterable[Entry], cards: str) -> tuple[str, ...]:
    """The keys in all good cards that are stored for a host: a false card must not save the key before it."""
    found: dict[str, None] = {}
    for entry in entries:
        with suppress(CardError, DocumentError):
            host = entry.key
            spec = HostSpec.from_bytes(entry.value, host)
            card = spec.card.verified(cards) if spec.card else None
            if card is not None and card.host == host:
                found[card.key] = None
    return tuple(found)


async def _delete_values(js: JetStream, host: str) -> None:
    """Delete the secrets of a host, the values that it shares, and its slots: it may have taken them without end."""
    for name, wanted in ((SECRETS, f"{host}.*"), (SHARED, f"{host}.*"), (SLOTS, f"*.*.{host}")):
        values = js.key_value(name)
        for key in filter(is_key, await values.keys(wanted)):
            await (values.purge(key) if name == SECRETS else values.delete(key))


async def revoke(files: OperatorDirectory, keys: Iterable[str]) -> Confirmations:
    """Revoke keys of hosts on the servers and in the files; return which servers have taken it. Raises LinkError, OSError."""
    now = int(time.time())
    revoked = dict.fromkeys(keys, now + _AHEAD)
    _, confirmations = await revoke_users(files, "HOSTS", revoked, since=now - _FORGOTTEN)
    return confirmations


async def revoked_hosts(js: JetStream, files: OperatorDirectory) -> list[str]:
    """Return the hosts whose keys are revoked though the servers do not call them expelled: the backup is older than that.

    Raises LinkError, DocumentError.
    """
    revoked = revoked_in(files.tokens["HOSTS"]) if "HOSTS" in files.tokens else {}
    found = []
    for name, spec in (await read_host_specs(js)).items():
        try:
            card = spec.card.verified(files.keys.cards.public) if spec.card else None
        except CardError:
            continue
        if card is not None and card.key in revoked and spec.expelled is None:
            found.append(name)
    return sorted(found)
