"""Admits hosts by hand, and keeps what is particular to each. Changed by compare-and-set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from reactor.fleet.bucket_names import HOSTS, STATE
from reactor.fleet.documents import DocumentError, is_channel_name, is_host_id
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.errors import WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.accounts import host_token
from reactor.fleet.operator.keyring import Keyring, KeyringError, now
from reactor.fleet.wire.credentials import Credentials
from reactor.fleet.wire.nkeys import Key

LIFE = 30 * 86_400
"""Seconds for which the credentials of a host are good."""
_ATTEMPTS = 5


async def admit_by_hand(
    js: JetStream, keys: Keyring, host: str, channels: Sequence[str], groups: Sequence[str] = ()
) -> Credentials:
    """Enrol a new host; return the credentials that it needs. Raises KeyringError if the name is taken, LinkError."""
    for name in (host, *channels, *groups):
        if not (is_host_id(name) and is_channel_name(name)):
            raise DocumentError(f"{name!r} is no name: only a-z, 0-9 and - are allowed, and - not at an end")
    try:
        spec = HostSpec(host, tuple(channels), tuple(groups))
        await js.key_value(HOSTS).create(host, spec.to_bytes())
    except WrongRevisionError as error:
        raise KeyringError(
            f"there is a host {host} already", "give another name, or expel it first"
        ) from error
    key = Key.generate("user")
    return Credentials(key, host_token(keys, host, key.public, now() + LIFE))


async def change_host_spec(js: JetStream, host: str, change: Callable[[HostSpec], HostSpec]) -> HostSpec:
    """Change what is particular to a host; return it. Raises KeyringError if there is no such host, LinkError."""
    bucket = js.key_value(HOSTS)
    for _ in range(_ATTEMPTS):
        entry = await bucket.get(host) if is_host_id(host) else None
        if entry is None:
            raise KeyringError(f"there is no host {host}", "see reactor fleet status")
        new = change(HostSpec.from_bytes(entry.value, host))
        try:
            await bucket.update(host, new.to_bytes(), entry.revision)
        except WrongRevisionError:
            continue
        return new
    raise KeyringError(f"others change the spec for {host} all the time", "try again")


def held(spec: HostSpec, until: float | None, why: str) -> HostSpec:
    """Keep a host at its release."""
    return replace(spec, hold=True, hold_until=until, why=why)


def freed(spec: HostSpec) -> HostSpec:
    """Let a host follow its channels again: without hold and without pins."""
    return replace(spec, hold=False, hold_until=None, why="", pins={})


async def forget(js: JetStream, host: str) -> None:
    """Remove what is stored of a host. Its credentials stay good until they are revoked. Raises LinkError."""
    await js.key_value(HOSTS).purge(host)
    await js.key_value(STATE).delete(host)
