"""Where the page is, and who may see it."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from reactor.control.address import Address
from reactor.ui.token import kept_token, new_token

_LETTERS = 32


@dataclass(frozen=True, slots=True)
class Access:
    """Those who know the ``token`` may see the page: every user of this host can reach a port on loopback."""

    address: Address
    token: str = field(repr=False)

    @classmethod
    def to(cls, address: Address, directory: str | None) -> Access:
        """The access to a page at ``address`` of a run with that state directory, if it has one. Raises OSError."""
        return cls(address, new_token() if directory is None else kept_token(directory))

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
