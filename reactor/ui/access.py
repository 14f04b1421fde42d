"""Where the page is, and who may see it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from reactor.control.address import Address
from reactor.ui.token import FILE, kept_token, new_token


@dataclass(frozen=True, slots=True)
class Access:
    """Programs on this host may see a page at a loopback address; all others must know the ``token``.

    ``token_place`` says where people find that.
    """

    address: Address
    token: str | None = None
    token_place: str = ""

    @classmethod
    def to(cls, address: Address, directory: str | None) -> Access:
        """The access to a page at ``address`` of a run with that state directory, if it has one. Raises OSError."""
        if address.is_loopback:
            return cls(address)
        if directory is None:
            return cls(address, new_token(), "told by reactor run at its start, on its terminal")
        return cls(address, kept_token(directory), f"in {os.path.join(directory, FILE)}")

    def told(self, *, openly: bool) -> str:
        """Where the page is, for the person who starts the run. Unless ``openly``, others may read that too."""
        shown = self.address.as_reached
        if self.token is None:
            return f"the live page is at http://{shown}/"
        if openly:
            return f"the live page is at http://{shown}/?token={self.token}"
        return f"the live page is at http://{shown}/?token=TOKEN; the token is {self.token_place}"
