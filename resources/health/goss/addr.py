"""The rule ``addr``: whether something answers at an address."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from typing import Annotated, Any

import trio

from reactor.resources.health.goss.dns import refuse_no_answer
from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import MILLISECOND, Milliseconds, Rule, readable_by

_ADDRESS = re.compile(r"tcp://(?:\[([^\]]+)\]|([^:/]+)):(\d{1,5})")


def _split_address(text: str) -> tuple[str, int]:
    """Host and port. Raises ValueError when ``text`` is not an address."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an address: write it as tcp://host:port")
    return match[1] or match[2], int(match[3])


Address = Annotated[str, readable_by(_split_address)]
"""``tcp://host:port``, also ``tcp://[::1]:80``."""


class AddrRule(Rule):
    """An address that takes connections. One is made and closed."""

    address: Address | None = None
    """The address; by default the key."""
    reachable: Expected = True
    timeout: Milliseconds = 500
    """Milliseconds to wait for an answer."""
    local_address: str | None = None
    """Where to connect from."""

    def check_key(self, key: str) -> None:
        """The key is the address, unless that is given."""
        _split_address(self.address or key)

    async def find(self, key: str) -> Mapping[str, Any]:
        """Connect. No answer in time, a refusal and an unknown name all mean: not reachable."""
        host, port = _split_address(self.address or key)
        try:
            with trio.fail_after(self.timeout * MILLISECOND):
                stream = await trio.open_tcp_stream(host, port, local_address=self.local_address)
                await trio.aclose_forcefully(stream)
        except socket.gaierror as error:
            refuse_no_answer(host, error)
            return {"reachable": False}
        except (OSError, trio.TooSlowError):
            return {"reachable": False}
        return {"reachable": True}
