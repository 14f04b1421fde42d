"""The public keys of a fleet and of its hosts, for people to compare. None of them is secret."""

from __future__ import annotations

from typing import NamedTuple

from reactor.fleet.bucket_names import HOSTS
from reactor.fleet.documents import DocumentError
from reactor.fleet.enrolment.card import CardError
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.errors import RefusedError
from reactor.fleet.operator.keyring import Keyring
from reactor.fleet.operator.views import read_host_specs

_FLEET = {
    "operator": "operator",
    "account SYS": "system",
    "account FLEET": "fleet",
    "account HOSTS": "hosts",
    "signs hosts": "hosts_signing",
    "signs tokens": "joining",
    "signs cards": "cards",
}
"""What a key is for -> its name in the keyring. The key of invitations has no public part that anyone needs."""


class HostKeys(NamedTuple):
    """``key``: the nkey of the host, ``age``: its age recipient, as its card says; None where there is none.

    ``issued``: when the card was signed. ``problem``: why the card is not believed. ``revoked``: keys that are good no more.
    """

    host: str
    key: str | None = None
    age: str | None = None
    issued: float | None = None
    problem: str = ""
    expelled: bool = False
    revoked: tuple[str, ...] = ()


def keys_of_fleet(keys: Keyring) -> dict[str, str]:
    """Return the public keys by what they are for."""
    return {purpose: getattr(keys, name).public for purpose, name in _FLEET.items()}


async def keys_of_hosts(js: JetStream, cards: str, host: str | None) -> list[HostKeys]:
    """Return the keys of all hosts by name, or of one. ``cards``: the public key of cards. Raises RefusedError, LinkError."""
    if host is None:
        specs = await read_host_specs(js)
        return [_keys(spec, cards) for _, spec in sorted(specs.items())]
    entry = await js.key_value(HOSTS).get(host)
    if entry is None:
        raise RefusedError(f"there is no host {host}", "see reactor fleet keys")
    return [_keys(HostSpec.from_bytes(entry.value, host), cards)]


def _keys(spec: HostSpec, cards: str) -> HostKeys:
    found = HostKeys(spec.host, expelled=spec.expelled is not None, revoked=spec.revoked_keys)
    if spec.card is None:
        return found if found.expelled else found._replace(problem="it has no card")
    try:
        card = spec.card.verified(cards)
    except (CardError, DocumentError) as error:
        return found._replace(problem=error.message)
    if card.host != spec.host:
        return found._replace(problem=f"its card is for {card.host}")
    return found._replace(key=card.key, age=card.age, issued=card.issued)
