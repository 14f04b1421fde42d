"""The keys of the operator and of the accounts, in one directory that only its owner can read."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, fields

from reactor.atomic_write import replace_file
from reactor.errors import ReactorError
from reactor.fleet.wire.credentials import Credentials, encode_credentials
from reactor.fleet.wire.nkeys import Key, NkeyError

_FILE = "keys.json"
_PRIVATE = 0o600


class KeyringError(ReactorError):
    """The keys of the fleet are missing or damaged."""

    code = "R1008"


@dataclass(frozen=True)
class Keyring:
    """``hosts_signing`` makes hosts and nothing else: its permissions are those of one host. The admitting service has it."""

    operator: Key
    system: Key
    fleet: Key
    hosts: Key
    hosts_signing: Key

    @classmethod
    def generate(cls) -> Keyring:
        """Make new keys."""
        return cls(Key.generate("operator"), *(Key.generate("account") for _ in range(4)))

    @classmethod
    def load(cls, directory: str) -> Keyring | None:
        """Read the keys in ``directory``, None if there are none. Raises KeyringError."""
        path = os.path.join(directory, _FILE)
        try:
            with open(path, encoding="ascii") as file:
                seeds = json.load(file)
            return cls(**{each.name: Key.from_seed(seeds[each.name]) for each in fields(cls)})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, NkeyError) as error:
            hint = "restore it from a backup: without these keys the servers can't be changed"
            raise KeyringError(f"the keys in {path} can't be read", hint) from error

    def save(self, directory: str) -> None:
        """Write the keys. Raises OSError."""
        seeds = {each.name: getattr(self, each.name).seed for each in fields(self)}
        replace_file(os.path.join(directory, _FILE), json.dumps(seeds, indent=2).encode(), _PRIVATE)


def save_credentials(path: str, credentials: Credentials) -> None:
    """Write a ``.creds`` file. Raises OSError."""
    replace_file(path, encode_credentials(credentials).encode(), _PRIVATE)


def now() -> int:
    """The time for a JWT, in seconds since 1970."""
    return int(time.time())
