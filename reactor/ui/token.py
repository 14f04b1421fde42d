"""The word that shows that somebody may see the page."""

from __future__ import annotations

import os
import secrets
import stat

FILE = "page-token"
_BYTES = 32
_SHORTEST = 32


def kept_token(directory: str) -> str:
    """The token in the state directory ``directory``, which is ours. Raises OSError.

    It is made when there is none yet, and when others could read the one there is.
    """
    path = os.path.join(directory, FILE)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "r+b") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
            raise OSError(f"{path} is not a file of ours alone: remove it, and a new one is made")
        kept = file.read(_SHORTEST * _BYTES).strip()
        if kept and not stat.S_IMODE(found.st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
            return _valid(kept, path)
        os.fchmod(file.fileno(), 0o600)
        token = new_token()
        file.seek(0)
        file.truncate()
        file.write(f"{token}\n".encode())
        return token


def _valid(kept: bytes, path: str) -> str:
    try:
        token = kept.decode("ascii")
    except UnicodeDecodeError:
        token = ""
    if len(token) < _SHORTEST or not all(each.isalnum() or each in "-_" for each in token):
        raise OSError(f"{path} holds no token: remove it, and a new one is made")
    return token


def new_token() -> str:
    """One that nobody can guess, and that can stand in an address."""
    return secrets.token_urlsafe(_BYTES)
