"""Sets secrets: each is encrypted for every host that should have it, and for operators, so that new hosts can get it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reactor.fleet.bucket_names import CHANGED_HOST, SECRETS
from reactor.fleet.documents import DocumentError
from reactor.fleet.enrolment.card import Card, CardError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.errors import SecretRefusedError
from reactor.fleet.operator.keyring import Keyring
from reactor.fleet.operator.known_hosts import FleetView, KnownHost, read_fleet
from reactor.fleet.operator.secret_keys import SecretKeys
from reactor.fleet.operator.where import WhereError, parse_where
from reactor.fleet.sealed_secret import MOST_BYTES, OPERATORS, SealedSecret, is_secret_name

_NAMED = 10
"""The largest number of hosts that an error names."""


@dataclass(frozen=True)
class Changed:
    """A change of the secret ``name``: the hosts that got it, and the hosts that lost it."""

    name: str
    hosts: tuple[str, ...]
    removed: tuple[str, ...] = ()


def check_secret(name: str, value: bytes) -> None:
    """Raise SecretRefusedError unless the name and the value are allowed."""
    check_name(name)
    if not value:
        raise SecretRefusedError(
            f"the secret {name} is empty", "write its value to standard input, or use --from"
        )
    if len(value) > MOST_BYTES:
        words = f"the secret {name} has more than {MOST_BYTES // 1024} KiB"
        raise SecretRefusedError(words, "put a key into the secret, and encrypt the file with it")
    try:
        value.decode()
    except UnicodeDecodeError:
        hint = "encode bytes in base64, and decode them where they are used"
        raise SecretRefusedError(f"the secret {name} is not UTF-8 text", hint) from None


def check_name(name: str) -> None:
    """Raise SecretRefusedError unless a secret may have this name."""
    if not is_secret_name(name):
        hint = "use letters, digits, - and _, at most 63, and a letter or digit first"
        raise SecretRefusedError(f"{name!r} is not a name for a secret", hint)


def chosen_hosts(fleet: FleetView, where: str) -> list[KnownHost]:
    """Return the hosts that the expression chooses, by name. Raises WhereError."""
    is_chosen = parse_where(where)
    return [
        host
        for _, host in sorted(fleet.hosts.items())
        if host.spec.expelled is None and any(is_chosen(host, line) for line in fleet.lines_of(host))
    ]


def lacking(fleet: FleetView) -> dict[str, list[str]]:
    """Return the names of the missing secrets of each host that lacks any."""
    found: dict[str, list[str]] = {}
    for name, where in fleet.secrets.wanted.items():
        try:
            hosts = chosen_hosts(fleet, where)
        except WhereError:  # a server can store anything
            continue
        for host in hosts:
            if name not in fleet.secrets.held.get(host.name, ()):
                found.setdefault(host.name, []).append(name)
    return found


class SecretStore:
    """The secrets on the servers, changed by an operator with the ``keys``."""

    def __init__(self, js: JetStream, keys: Keyring, age: SecretKeys) -> None:
        self._js = js
        self._bucket = js.key_value(SECRETS)
        self._keys = keys
        self._age = age

    async def set(self, name: str, where: str, value: bytes) -> Changed:
        """Give ``value`` to the hosts that ``where`` chooses, and take it from the others. Raises SecretRefusedError, LinkError.

        Nothing is written if one of the hosts can't get it.
        """
        check_secret(name, value)
        fleet = await read_fleet(self._js)
        hosts = chosen_hosts(fleet, where)
        if not hosts:
            raise SecretRefusedError(f"no host is chosen by {where!r}", "see reactor fleet hosts")
        cards = self._cards(hosts)
        others = [host for host, names in fleet.secrets.held.items() if name in names and host not in cards]
        await self._write(OPERATORS, name, where, self._age.encrypt_for_operators(value))
        await self._give(name, value, cards.values())
        for host in others:
            await self._bucket.purge(f"{host}.{name}")
        await self._hint((*cards, *others))
        return Changed(name, tuple(cards), tuple(others))

    async def sync(self) -> list[Changed]:
        """Give each secret to the hosts that lack it. Raises SecretRefusedError, LinkError."""
        fleet = await read_fleet(self._js)
        changes = []
        for name, where in fleet.secrets.wanted.items():
            sealed = await self._operators_copy(name)
            lacks = [
                host
                for host in chosen_hosts(fleet, sealed.where if sealed else where)
                if name not in fleet.secrets.held.get(host.name, ())
            ]
            if sealed is None or not lacks:
                continue
            cards = self._cards(lacks)
            await self._give(name, self._age.decrypt(sealed.data, name), cards.values())
            await self._hint(cards)
            changes.append(Changed(name, tuple(cards)))
        return changes

    async def _operators_copy(self, name: str) -> SealedSecret | None:
        """The copy for operators, verified: an expression that a server made up must not choose hosts."""
        entry = await self._bucket.get(f"{OPERATORS}.{name}")
        if entry is None:
            return None
        sealed = SealedSecret.from_bytes(entry.value)
        sealed.verify(self._keys.cards.public, OPERATORS, name)
        return sealed

    def _cards(self, hosts: Iterable[KnownHost]) -> dict[str, Card]:
        """The verified cards: a server could put another recipient into one. Raises SecretRefusedError."""
        found, without = {}, []
        for host in hosts:
            signed, card = host.spec.card, None
            if signed is not None:
                try:
                    card = signed.verified(self._keys.cards.public)
                except (CardError, DocumentError) as error:
                    raise SecretRefusedError(f"{host.name}: {error.message}", error.hint) from error
            if card is None or card.age is None or card.host != host.name:
                without.append(host.name)
            else:
                found[host.name] = card
        if without:
            more = f" and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
            names = ", ".join(without[:_NAMED]) + more
            hint = "let them join with reactor fleet join, which makes the key, or choose other hosts"
            raise SecretRefusedError(f"these hosts have no age key on a card: {names}", hint)
        return found

    async def _give(self, name: str, value: bytes, cards: Iterable[Card]) -> None:
        for card in cards:
            await self._write(card.host, name, "", self._age.encrypt_for(card, value))

    async def _write(self, host: str, name: str, where: str, data: bytes) -> None:
        sealed = SealedSecret(host, name, where, data).signed(self._keys.cards)
        await self._bucket.put(f"{host}.{name}", sealed.to_bytes())

    async def _hint(self, hosts: Iterable[str]) -> None:
        await hint(self._js, hosts)


async def remove_secret(js: JetStream, name: str) -> Changed:
    """Remove a secret: the copy for operators first, then the copies for all hosts.

    Raises SecretRefusedError, LinkError.
    """
    check_name(name)
    bucket = js.key_value(SECRETS)
    keys = await bucket.keys(f"*.{name}")
    if not keys:
        raise SecretRefusedError(f"there is no secret {name}", "see reactor fleet secret list")
    for key in keys:
        await bucket.purge(key)
    hosts = sorted(host for key in keys if (host := key.partition(".")[0]) != OPERATORS)
    await hint(js, hosts)
    return Changed(name, (), tuple(hosts))


async def hint(js: JetStream, hosts: Iterable[str]) -> None:
    """Send hosts a hint to read their secrets now. A host that misses it reads them later."""
    for host in hosts:
        await js.connection.publish(f"{CHANGED_HOST}{host}", b"")
    await js.connection.flush()
