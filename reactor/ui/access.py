"""The address of the live page, and the token that every request to it must have."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass, field

from reactor.control.listen_address import Address

FILE = "page-token"
_BYTES = 32
_SHORTEST = 32


def stored_token(directory: str) -> str:
    """The token in ``directory``, a state directory that belongs to us. Raises OSError.

    A new one is created if there is none, or if other users could read it.
    """
    path = os.path.join(directory, FILE)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "r+b") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
            raise OSError(f"{path} is not a private file of ours: remove it, and a new one is created")
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
        raise OSError(f"{path} has no token: remove it, and a new one is created")
    return token


def new_token() -> str:
    """A random token that can be used in a URL."""
    return secrets.token_urlsafe(_BYTES)


_LETTERS = 32


@dataclass(frozen=True, slots=True)
class Access:
    """The address of the page and its token. Every user of this host can connect to a local port, hence the token."""

    address: Address
    token: str = field(repr=False)
    shown_by: str = "reactor ui"
    """The command that shows the address with the token."""

    @classmethod
    def to(cls, address: Address, directory: str | None, shown_by: str = "reactor ui") -> Access:
        """The access to a page at ``address``. With a state directory, the token is stored there. Raises OSError."""
        return cls(address, new_token() if directory is None else stored_token(directory), shown_by)

    @property
    def url(self) -> str:
        """The URL to open in a browser, with the token."""
        return f"http://{self.address.as_reached}/?token={self.token}"

    @property
    def home(self) -> str:
        """The path of the page in a browser, such as ``/page-0f3d``, which is derived from the token.

        A browser sends a cookie to every port of a host, so also to a server of another user, but only below its path.
        """
        name = hmac.digest(self.token.encode(), b"the path of the live page", hashlib.sha256).hex()
        return f"/page-{name[:_LETTERS]}"

    def message(self, *, with_token: bool) -> str:
        """The message with the address of the page. Use ``with_token`` only if no other user can read the message."""
        if with_token:
            return f"the live page is at {self.url}"
        return f"the live page is at http://{self.address.as_reached}/; '{self.shown_by}' shows its address with the token"
