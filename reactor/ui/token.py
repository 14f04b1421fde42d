"""The word by which a page that other hosts can reach tells friends from strangers."""

from __future__ import annotations

import os
import secrets

FILE = "page-token"
_BYTES = 32


def kept_token(directory: str) -> str:
    """The token in the state directory ``directory``, which is ours; made when it is not there yet. Raises OSError."""
    path = os.path.join(directory, FILE)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "r+", encoding="ascii") as file:
            os.fchmod(descriptor, 0o600)
            if token := file.read().strip():
                return token
            token = new_token()
            file.write(f"{token}\n")
            return token
    except UnicodeDecodeError as error:
        raise OSError(f"{path} holds no token: remove it, and a new one is made") from error


def new_token() -> str:
    """One that nobody can guess, and that can stand in an address."""
    return secrets.token_urlsafe(_BYTES)
