"""A connection of an operator, with the credentials in its directory."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from reactor.atomic_write import replace_file
from reactor.fleet.link.connection import connected
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator.keyring import KeyringError
from reactor.fleet.operator.server_config import OPERATOR_CREDENTIALS

_FILE = "servers.json"


def save_servers(directory: str, servers: Sequence[str], ca: str | None) -> bool:
    """Store the URLs of the servers; return whether they changed. Raises OSError."""
    path = os.path.join(directory, _FILE)
    data = json.dumps({"servers": list(servers), "ca": ca}).encode()
    try:
        with open(path, "rb") as file:
            if file.read() == data:
                return False
    except FileNotFoundError:
        pass
    replace_file(path, data, 0o600)
    return True


def operator_options(directory: str, user: str = OPERATOR_CREDENTIALS) -> Options:
    """Return the options to connect as the operator, or as ``user``. Raises KeyringError."""
    try:
        with open(os.path.join(directory, _FILE), "rb") as file:
            found = json.load(file)
        servers, ca = tuple(map(str, found["servers"])), found["ca"]
    except FileNotFoundError as error:
        raise KeyringError(f"there is no fleet in {directory}", "make one: reactor fleet init") from error
    except (ValueError, KeyError, TypeError) as error:
        raise KeyringError(f"{directory}/{_FILE} can't be read", "run reactor fleet init again") from error
    credentials = os.path.join(directory, user)
    return Options(servers=servers, ca=ca, credentials=credentials, name="reactor fleet", origin=directory)


@asynccontextmanager
async def operator_session(
    directory: str, *, seconds: float = 3.0, user: str = OPERATOR_CREDENTIALS
) -> AsyncIterator[JetStream]:
    """Yield the JetStream of the account FLEET, or of the account of ``user``.

    Raises KeyringError, and LinkError if no server answers in time.
    """
    async with connected(operator_options(directory, user), seconds=seconds) as connection:
        yield JetStream(connection)
