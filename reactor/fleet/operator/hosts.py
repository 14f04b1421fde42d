"""Admits hosts by hand, and changes their specs by compare-and-set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from reactor.fleet.bucket_names import HOSTS
from reactor.fleet.documents import is_host_id, require_names
from reactor.fleet.enrolment.card import Card, sign_card
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.errors import WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.accounts import host_token
from reactor.fleet.operator.admission import LIFE
from reactor.fleet.operator.keyring import Keyring, KeyringError, now
from reactor.fleet.wire.credentials import Credentials
from reactor.fleet.wire.nkeys import Key

_ATTEMPTS = 5


async def admit_by_hand(
    js: JetStream,
    keys: Keyring,
    host: str,
    channels: Sequence[str],
    groups: Sequence[str] = (),
    *,
    life: int = LIFE,
) -> Credentials:
    """Admit a new host; return its credentials, good for ``life`` seconds. Raises KeyringError if the name is taken, LinkError."""
    require_names((host, *channels, *groups))
    key = Key.generate("user")
    card = Card(host, key.public, None, tuple(channels), tuple(groups), float(now()))
    try:
        spec = HostSpec(host, tuple(channels), tuple(groups), card=sign_card(card, keys.cards))
        await _put_new(js, spec)
    except WrongRevisionError as error:
        raise KeyringError(
            f"there is a host {host} already",
            f"give another name, or let it join again: reactor fleet expel {host} --rekey",
        ) from error
    return Credentials(key, host_token(keys.admitting, host, key.public, now() + life))


async def _put_new(js: JetStream, spec: HostSpec) -> None:
    """Store a new host, or one that was expelled and may join again. Raises WrongRevisionError if the name is taken."""
    bucket = js.key_value(HOSTS)
    entry = await bucket.get(spec.host)
    before = HostSpec.from_bytes(entry.value, spec.host) if entry else None
    if entry is None or before is None or not before.rejoins:
        await bucket.create(spec.host, spec.to_bytes())
    else:
        new = replace(
            before, channels=spec.channels, groups=spec.groups, card=spec.card, expelled=None, rejoins=False
        )
        await bucket.update(spec.host, new.to_bytes(), entry.revision)


async def change_host_spec(js: JetStream, host: str, change: Callable[[HostSpec], HostSpec]) -> HostSpec:
    """Change the spec of a host; return the new spec. Raises KeyringError if there is no such host any more, LinkError."""
    bucket = js.key_value(HOSTS)
    for _ in range(_ATTEMPTS):
        entry = await bucket.get(host) if is_host_id(host) else None
        if entry is None:
            raise KeyringError(f"there is no host {host}", "see reactor fleet status")
        before = HostSpec.from_bytes(entry.value, host)
        if before.expelled is not None and not before.rejoins:
            raise KeyringError(
                f"the host {host} was expelled", f"to let it join again: reactor fleet expel {host} --rekey"
            )
        new = change(before)
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
