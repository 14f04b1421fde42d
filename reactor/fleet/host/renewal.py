"""Renews the credentials of a host after two thirds of their lifetime, for the same key."""

from __future__ import annotations

import time
from collections.abc import Callable

import trio

from reactor.errors import ReactorError
from reactor.fleet.enrolment.requests import Request
from reactor.fleet.host.join import admitted, ask
from reactor.fleet.host.keys import FileKeys
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import ContextError
from reactor.fleet.link.options import read_small_file
from reactor.fleet.wire import tokens
from reactor.fleet.wire.credentials import CredentialsError, parse_credentials

_LONGEST_SLEEP = 3600.0
"""Seconds after which the clock is read again: it may have jumped."""
_FIRST_RETRY, _LONGEST_RETRY = 30.0, 3600.0


class Renewal:
    """Renews the file ``credentials``.

    ``card_key``: the fleet's public card key. ``tell`` gets a sentence for people.
    """

    def __init__(
        self,
        connection: Connection,
        host: str,
        credentials: str,
        card_key: str,
        *,
        tell: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._connection = connection
        self._host = host
        self._credentials = credentials
        self._card_key = card_key
        self._tell = tell
        self._clock = clock

    async def run(self) -> None:
        """Renew until cancelled. A failure is reported and retried."""
        retry = _FIRST_RETRY
        while True:
            try:
                left = self.due() - self._clock()
                if left > 0:
                    await trio.sleep(min(left, _LONGEST_SLEEP))
                    continue
                await self._connection.wait_up()
                await self.renew()
            except (ReactorError, OSError) as error:
                self._tell(f"the credentials of {self._host} can't be renewed: {error}")
                await trio.sleep(retry)
                retry = min(2 * retry, _LONGEST_RETRY)
            else:
                retry = _FIRST_RETRY

    def due(self) -> float:
        """When to renew, in seconds since 1970. Raises ContextError."""
        try:
            jwt = parse_credentials(read_small_file(self._credentials, "credentials file", "")).jwt or ""
            expires, issued = tokens.expiry_of(jwt), tokens.claims_of(jwt).get("iat")
        except (CredentialsError, tokens.TokenError) as error:
            raise ContextError(f"{self._credentials} can't be used: {error}") from error
        if expires is None or not isinstance(issued, int):
            return float("inf")
        return issued + (expires - issued) * 2 / 3

    async def renew(self) -> None:
        """Ask for a new JWT and write it. Raises LinkError, CardError, DocumentError, NotAdmittedError, OSError."""
        keys = FileKeys(self._credentials)
        request = Request("renew", self._host, keys.public)
        answer = await ask(self._connection, request.sealed(keys.sign), self._card_key, request.nonce)
        jwt, _, _ = admitted(answer, request, self._card_key)
        keys.save(jwt)
        self._tell(f"the credentials of {self._host} are renewed")
