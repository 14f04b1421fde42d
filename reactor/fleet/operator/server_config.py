"""The part of the configuration of nats-server that names the accounts, and the files of an operator beside it."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from reactor.atomic_write import replace_file
from reactor.fleet.operator import accounts
from reactor.fleet.operator.credentials_life import issue_of, life_of, needs_renewal
from reactor.fleet.operator.keyring import (
    ADMITTING,
    KEYS,
    AccountName,
    Keyring,
    KeyringError,
    save_credentials,
)
from reactor.fleet.wire.credentials import Credentials

TOKENS, CONFIG = "accounts.json", "accounts.conf"
OPERATOR_CREDENTIALS, SYSTEM_CREDENTIALS = "operator.creds", "system.creds"
ADMITTING_CREDENTIALS = "admit.creds"


class _MakeUser(Protocol):
    """Makes a user, which ends at a time in seconds since 1970, or never."""

    def __call__(self, keys: Keyring, expires: int | None, *, issued: int | None) -> Credentials: ...


_USERS: dict[str, _MakeUser] = {
    OPERATOR_CREDENTIALS: partial(accounts.operator_user, name="operator", account="fleet"),
    SYSTEM_CREDENTIALS: partial(accounts.operator_user, name="system", account="system"),
    ADMITTING_CREDENTIALS: accounts.admitting_user,
}
"""File of credentials -> the function that makes its user."""
_ROLES = {"operator", "SYS", "FLEET", "HOSTS"}


@dataclass(frozen=True)
class OperatorDirectory:
    """The directory of an operator: keys, JWTs, credentials, and the file that servers include.

    ``changed``: the files that were written.
    """

    directory: str
    keys: Keyring
    tokens: dict[str, str]
    changed: tuple[str, ...]

    def path(self, name: str) -> str:
        """The path of one of the files."""
        return os.path.join(self.directory, name)


def make_operator_directory(directory: str, life: float | None = None) -> OperatorDirectory:
    """Make the missing files in ``directory``, and renew the files of older versions and credentials that end soon.

    ``life``: the seconds for which credentials are good, by default as before, and for ever at first. Raises
    KeyringError, OSError.
    """
    with suppress(FileExistsError):
        os.makedirs(directory, mode=0o700)
    changed = [KEYS] if Keyring.complete(directory) else []
    keys = Keyring.load(directory)
    if keys is None:
        _require_new(directory)
        keys = Keyring.generate()
        keys.save(directory)
        changed.append(KEYS)
    old = _tokens(directory)
    tokens = _renewed(keys, old)
    if tokens != old:
        save_tokens(directory, tokens)
        changed.append(TOKENS)
    for name, make in _USERS.items():
        path = os.path.join(directory, name)
        if not os.path.exists(path) or needs_renewal(path, life):
            _save_user(path, make, keys, life=life)
            changed.append(name)
    for name, content in (
        (CONFIG, server_config(keys, tokens).encode()),
        (ADMITTING, keys.admitting.to_bytes()),
    ):
        if _read(os.path.join(directory, name)) != content:
            replace_file(os.path.join(directory, name), content, 0o600)
            changed.append(name)
    return OperatorDirectory(directory, keys, tokens, tuple(changed))


def _require_new(directory: str) -> None:
    """Raise KeyringError if a directory without keys has files of a fleet: new keys would be those of another fleet."""
    for name in (*_USERS, TOKENS, CONFIG, ADMITTING):
        if os.path.lexists(os.path.join(directory, name)):
            raise KeyringError(
                f"{directory} has {name} of a fleet, and no {KEYS}",
                f"run this where {KEYS} is, or restore it from a backup; for a new fleet, give another --home",
            )


def renew_users(files: OperatorDirectory) -> tuple[tuple[str, ...], int]:
    """Make new credentials of all operators, good for as long as the old ones.

    Return the files, and a time in seconds since 1970: the old ones were issued until then, the new ones later. Raises
    OSError.
    """
    paths = {name: files.path(name) for name in _USERS}
    moment = max(int(time.time()), *(issue_of(path) or 0 for path in paths.values()))
    for name, make in _USERS.items():
        _save_user(paths[name], make, files.keys, issued=moment + 1)
    return tuple(paths), moment


def _save_user(
    path: str, make: _MakeUser, keys: Keyring, *, life: float | None = None, issued: int | None = None
) -> None:
    seconds = life or life_of(path)
    save_credentials(path, make(keys, expires=int(time.time() + seconds) if seconds else None, issued=issued))


def load_operator_directory(directory: str) -> OperatorDirectory:
    """Read a directory that `make_operator_directory` has made. Raises KeyringError."""
    keys = Keyring.load(directory)
    if keys is None:
        raise KeyringError(f"there are no keys of a fleet in {directory}", "make them: reactor fleet init")
    return OperatorDirectory(directory, keys, _tokens(directory), ())


def is_current(files: OperatorDirectory) -> bool:
    """Whether the JWTs and the file for servers are as this version makes them. Raises OSError."""
    config = server_config(files.keys, files.tokens).encode() if files.tokens.keys() >= _ROLES else None
    return files.tokens == _renewed(files.keys, files.tokens) and _read(files.path(CONFIG)) == config


def save_tokens(directory: str, tokens: dict[str, str]) -> None:
    """Write the JWTs of the accounts. Raises OSError."""
    replace_file(os.path.join(directory, TOKENS), json.dumps(tokens, indent=2).encode(), 0o600)


def save_account(files: OperatorDirectory, name: AccountName, token: str) -> OperatorDirectory:
    """Write the JWT of one account, also into the file for servers. Raises OSError."""
    tokens = {**files.tokens, name: token}
    save_tokens(files.directory, tokens)
    replace_file(files.path(CONFIG), server_config(files.keys, tokens).encode(), 0o600)
    return replace(files, tokens=tokens)


def server_config(keys: Keyring, tokens: dict[str, str]) -> str:
    """Return the file that servers include.

    Accounts may change while a server runs; it keeps the newest JWT of each.
    """
    preload = "\n".join(f"  {key.public}: {tokens[name]}" for name, key in keys.accounts.items())
    return (
        "# Written by reactor fleet init; include it in the configuration of each nats-server.\n"
        f"operator: {tokens['operator']}\n"
        f"system_account: {keys.system.public}\n"
        'resolver {\n  type: full\n  dir: "accounts"\n  allow_delete: false\n  interval: "2m"\n}\n'
        f"resolver_preload {{\n{preload}\n}}\n"
    )


def _renewed(keys: Keyring, old: dict[str, str]) -> dict[str, str]:
    renewed = {"operator": accounts.operator_token(keys, old.get("operator"))}
    for name in keys.accounts:
        before = old.get(name)
        revoked = accounts.revoked_in(before) if before else {}
        renewed[name] = accounts.account_token(keys, name, revoked, before)
    return renewed


def _tokens(directory: str) -> dict[str, str]:
    data = _read(os.path.join(directory, TOKENS))
    if data is None:
        return {}
    try:
        return {str(name): str(token) for name, token in json.loads(data).items()}
    except (ValueError, AttributeError) as error:
        raise KeyringError(
            f"the JWTs in {directory}/{TOKENS} can't be read", "remove the file, and run init again"
        ) from error


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
