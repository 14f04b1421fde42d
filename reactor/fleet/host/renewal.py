"""Renews the credentials of a host after two thirds of their lifetime, for the same key."""

from __future__ import annotations

import time
from collections.abc import Callable

import trio

from reactor.atomic_write import replace_file
from reactor.errors import ReactorError
from reactor.fleet.documents import DocumentError, parsed
from reactor.fleet.enrolment.card import Card, CardError, SignedCard
from reactor.fleet.enrolment.requests import Request
from reactor.fleet.host.join import PUBLIC, admitted, ask
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
    """Renews the files ``credentials`` and ``card``.

    ``card_key``: the fleet's public card key. ``on_notice`` gets each message for operators.
    """

    def __init__(
        self,
        connection: Connection,
        host: str,
        credentials: str,
        card_key: str,
        *,
        card: str | None = None,
        on_notice: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._connection = connection
        self._host = host
        self._credentials = credentials
        self._card_key = card_key
        self._card = card
        self._on_notice = on_notice
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
                self._on_notice(f"the credentials of {self._host} can't be renewed: {error}")
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
        """Ask for a new JWT and write it, and the card if it has changed.

        Raises LinkError, CardError, DocumentError, NotAdmittedError, OSError.
        """
        keys = FileKeys(self._credentials)
        request = Request("renew", self._host, keys.public)
        answer = await ask(self._connection, request.sealed(keys.sign), self._card_key, request.nonce)
        jwt, signed, card = admitted(answer, request, self._card_key)
        keys.save(jwt)
        self._on_notice(f"the credentials of {self._host} are renewed")
        if self._card is not None and self._is_newer(self._card, signed, card):
            replace_file(self._card, signed.to_bytes(), PUBLIC)
            self._on_notice(
                f"the card of {self._host} has changed: restart this run to follow {', '.join(card.channels)}"
            )

    def _is_newer(self, path: str, signed: SignedCard, card: Card) -> bool:
        """Whether a card is another than that in the file, and not an older one. A file that can't be read is replaced."""
        try:
            there = SignedCard.of(parsed(read_small_file(path, "card", "").encode(), path))
            return there != signed and card.issued >= there.verified(self._card_key).issued
        except (CardError, ContextError, DocumentError):
            return True
