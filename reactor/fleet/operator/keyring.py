"""The keys of the operator and of the accounts, in one directory that only its owner can read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from reactor.atomic_write import replace_file
from reactor.errors import ReactorError
from reactor.fleet.wire.credentials import Credentials, encode_credentials
from reactor.fleet.wire.nkeys import Key, NkeyError

KEYS = "keys.json"
ADMITTING = "admit.json"
"""The file with the keys of the admitting service."""
AccountName = Literal["SYS", "FLEET", "HOSTS"]
_PRIVATE = 0o600
_RESTORE = "restore it from a backup: without these keys the servers can't be changed"
_ADDED_LATER = ("joining", "cards", "invitations")
"""The keys for enrolment. Directories made by older versions lack them."""


class KeyringError(ReactorError):
    """The keys of the fleet are missing or damaged."""

    code = "R1008"


@dataclass(frozen=True)
class AdmittingKeys:
    """The keys of the admitting service. It can make hosts, and nothing else.

    ``hosts_signing`` signs JWTs of hosts: their permissions are limited to one host. ``cards`` signs cards;
    ``invitations`` makes the secrets of tokens. ``hosts``: the public key of the account HOSTS.
    """

    hosts: str
    hosts_signing: Key
    cards: Key
    invitations: Key

    @classmethod
    def load(cls, directory: str) -> AdmittingKeys:
        """Read the keys in ``directory``. Raises KeyringError."""
        path = os.path.join(directory, ADMITTING)
        seeds = _seeds(path, "copy it again from the directory of the operator")
        if seeds is None:
            hint = "make it where the keys of the operator are: reactor fleet init"
            raise KeyringError(f"there is no {path}", hint)
        try:
            keys = (Key.from_seed(seeds[name]) for name in ("hosts_signing", "cards", "invitations"))
            return cls(str(seeds["hosts"]), *keys)
        except (KeyError, TypeError, NkeyError) as error:
            raise KeyringError(f"the keys in {path} can't be read", "run reactor fleet init again") from error

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        seeds = {name: getattr(self, name).seed for name in ("hosts_signing", "cards", "invitations")}
        return json.dumps({"hosts": self.hosts, **seeds}, indent=2).encode()


@dataclass(frozen=True)
class Keyring:
    """All keys. ``joining`` signs the NATS users in tokens, which may only ask to join; for the others see `AdmittingKeys`."""

    operator: Key
    system: Key
    fleet: Key
    hosts: Key
    hosts_signing: Key
    joining: Key
    cards: Key
    invitations: Key

    @classmethod
    def generate(cls) -> Keyring:
        """Make new keys."""
        return cls(**{each.name: _generated(each.name) for each in fields(cls)})

    @classmethod
    def load(cls, directory: str) -> Keyring | None:
        """Read the keys in ``directory``, None if there are none. Raises KeyringError."""
        path = os.path.join(directory, KEYS)
        seeds = _seeds(path, _RESTORE)
        if seeds is None:
            return None
        if missing := _added_later(seeds):
            words = f"the keys in {path} are of an older version: there is no {', '.join(missing)}"
            raise KeyringError(words, "add what is missing: reactor fleet init")
        try:
            return cls(**{each.name: Key.from_seed(seeds[each.name]) for each in fields(cls)})
        except (KeyError, TypeError, NkeyError) as error:
            raise KeyringError(f"the keys in {path} can't be read", _RESTORE) from error

    @classmethod
    def complete(cls, directory: str) -> bool:
        """Add the keys that an older version did not make.

        Return whether any was added. Raises KeyringError, OSError.
        """
        path = os.path.join(directory, KEYS)
        seeds = _seeds(path, _RESTORE) or {}
        missing = _added_later(seeds)
        if missing:
            seeds |= {name: _generated(name).seed for name in missing}
            replace_file(path, json.dumps(seeds, indent=2).encode(), _PRIVATE)
        return bool(missing)

    @property
    def accounts(self) -> dict[AccountName, Key]:
        """The key of each account."""
        return {"SYS": self.system, "FLEET": self.fleet, "HOSTS": self.hosts}

    @property
    def admitting(self) -> AdmittingKeys:
        """The keys for the admitting service."""
        return AdmittingKeys(self.hosts.public, self.hosts_signing, self.cards, self.invitations)

    def save(self, directory: str) -> None:
        """Write the keys. Raises OSError."""
        seeds = {each.name: getattr(self, each.name).seed for each in fields(self)}
        replace_file(os.path.join(directory, KEYS), json.dumps(seeds, indent=2).encode(), _PRIVATE)


def _added_later(seeds: Mapping[str, str]) -> tuple[str, ...]:
    """Return the missing keys that older versions did not make; none if a key that every version makes is missing."""
    is_older = all(each.name in seeds for each in fields(Keyring) if each.name not in _ADDED_LATER)
    return tuple(name for name in _ADDED_LATER if is_older and name not in seeds)


def _generated(name: str) -> Key:
    if name == "operator":
        return Key.generate("operator")
    # Keys of cards and invitations are no keys of NATS: a server trusts nothing that a key of a server has signed.
    return Key.generate("server" if name in ("cards", "invitations") else "account")


def _seeds(path: str, hint: str) -> dict[str, str] | None:
    try:
        with open(path, encoding="ascii") as file:
            found = json.load(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise KeyringError(f"the keys in {path} can't be read", hint) from error
    if not isinstance(found, dict):
        raise KeyringError(f"the keys in {path} can't be read", hint)
    return found


def save_credentials(path: str, credentials: Credentials) -> None:
    """Write a ``.creds`` file. Raises OSError."""
    replace_file(path, encode_credentials(credentials).encode(), _PRIVATE)


def now() -> int:
    """The time for a JWT, in seconds since 1970."""
    return int(time.time())
