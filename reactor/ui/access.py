"""The address of the live page, and the token that its users must show."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass, field

from reactor.control.address import Address

FILE = "page-token"
_BYTES = 32
_SHORTEST = 32


def stored_token(directory: str) -> str:
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


_LETTERS = 32


@dataclass(frozen=True, slots=True)
class Access:
    """Those who know the ``token`` may see the page: every user of this host can reach a port on loopback."""

    address: Address
    token: str = field(repr=False)

    @classmethod
    def to(cls, address: Address, directory: str | None) -> Access:
        """The access to a page at ``address`` of a run with that state directory, if it has one. Raises OSError."""
        return cls(address, new_token() if directory is None else stored_token(directory))

    @property
    def url(self) -> str:
        """What to open in a browser. It holds the token."""
        return f"http://{self.address.as_reached}/?token={self.token}"

    @property
    def home(self) -> str:
        """The path below which the page is in a browser, such as ``/page-0f3d``; only those who have shown the token know it.

        A browser sends a cookie to every port of a host, so also to a server of another user, but only below its path.
        """
        name = hmac.digest(self.token.encode(), b"the path of the live page", hashlib.sha256).hex()
        return f"/page-{name[:_LETTERS]}"

    def told(self, *, openly: bool) -> str:
        """Where the page is, for the person who starts the run. Unless ``openly``, others may read that too."""
        if openly:
            return f"the live page is at {self.url}"
        return f"the live page is at http://{self.address.as_reached}/; 'reactor ui' tells its address with the token"
