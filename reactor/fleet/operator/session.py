"""A connection of an operator, with the credentials in its directory."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from reactor.atomic_write import replace_file
from reactor.fleet.link.changed_options import follow_options
from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.errors import NoKeysError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options, read_small_file
from reactor.fleet.operator.keyring import KeyringError
from reactor.fleet.operator.quorum import INTERVAL, reach_quorum
from reactor.fleet.operator.server_config import CONFIG, OPERATOR_CREDENTIALS
from reactor.fleet.wire.credentials import parse_credentials
from reactor.fleet.wire.tokens import claims_of

SERVERS, AUTHORITY = "servers.json", "ca.pem"


def save_servers(directory: str, servers: Sequence[str], ca: str | None) -> bool:
    """Store the URLs of the servers; return whether they changed.

    ``ca``: the path of the CA, relative to the directory if it is not absolute; without it, that of before stays. Raises
    OSError, KeyringError.
    """
    path = os.path.join(directory, SERVERS)
    before = _saved(directory) if os.path.lexists(path) else {}
    new = {"servers": list(servers), "ca": ca or before.get("ca")}
    if new != before:
        replace_file(path, json.dumps(new).encode(), 0o600)
    return new != before


def copy_authority(directory: str, path: str) -> bool:
    """Copy a CA into the directory, so that backups of it are complete; return whether it changed.

    Raises OSError, ContextError.
    """
    copy = os.path.join(directory, AUTHORITY)
    new = read_small_file(path, "CA", "").encode()
    with suppress(FileNotFoundError), open(copy, "rb") as file:
        if file.read() == new:
            return False
    replace_file(copy, new, 0o600)
    return True


def _saved(directory: str) -> dict[str, Any]:
    """The stored URLs and the CA. Raises KeyringError."""
    try:
        with open(os.path.join(directory, SERVERS), "rb") as file:
            found = json.load(file)
        return {"servers": list(map(str, found["servers"])), "ca": found["ca"]}
    except FileNotFoundError as error:
        raise KeyringError(f"there is no fleet in {directory}", "make one: reactor fleet init") from error
    except (ValueError, KeyError, TypeError) as error:
        hint = "remove it, and run reactor fleet init again"
        raise KeyringError(f"{directory}/{SERVERS} can't be read", hint) from error


def operator_options(directory: str, user: str = OPERATOR_CREDENTIALS) -> Options:
    """Return the options to connect as the operator, or as ``user``. Raises KeyringError."""
    found, credentials = _saved(directory), os.path.join(directory, user)
    servers = " ".join(found["servers"])
    return Options(
        servers=tuple(found["servers"]),
        ca=os.path.join(directory, found["ca"]) if found["ca"] else None,
        credentials=credentials,
        name="reactor fleet",
        origin=directory,
        authority=f"name the CA of the server: reactor fleet init --ca FILE {servers}",
        renewal="renew them with reactor fleet init, on a machine that has keys.json",
        remedy=f"copy them again if 'reactor fleet revoke' has made new ones; else {_include(directory)}",
    )


def _include(directory: str) -> str:
    file = os.path.join(directory, CONFIG)
    return f"include {file} in the configuration of this server, and reload it"


def fleet_of(directory: str) -> str:
    """Return which fleet an operator's directory belongs to: the public key of the account FLEET. Raises LinkError."""
    path = operator_options(directory).credentials or ""
    token = parse_credentials(read_small_file(path, "credentials", directory)).jwt or ""
    return str(claims_of(token).get("iss"))


@asynccontextmanager
async def operator_session(
    directory: str, *, seconds: float = 3.0, user: str = OPERATOR_CREDENTIALS
) -> AsyncIterator[JetStream]:
    """Yield the JetStream of the account FLEET, or of the account of ``user``, at a server with a quorum if one has it.

    Raises KeyringError, and LinkError if no server answers in time.
    """
    try:
        async with connected(operator_options(directory, user), seconds=seconds) as connection:
            if len(connection.pool) > 1:
                await reach_quorum(connection)
            yield JetStream(connection)
    except NoKeysError as error:
        error.hint = _include(directory)
        raise


async def follow_servers(connection: Connection, directory: str, user: str) -> None:
    """Until cancelled, use the servers that ``directory`` names now: at once when they are not those of before.

    It may have been copied only in part; then nothing changes yet.
    """
    await follow_options(connection, partial(operator_options, directory, user), INTERVAL)
