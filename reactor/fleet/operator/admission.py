"""The admitting service: it answers requests of hosts to join, or for new credentials.

It holds the scoped key of HOSTS and the card key, and no key of releases. Several may run; a host is answered by one.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from reactor.fleet.bucket_names import HOSTS, INVITATIONS
from reactor.fleet.documents import DocumentError
from reactor.fleet.enrolment.card import Card, CardError, SignedCard, sign_card
from reactor.fleet.enrolment.invitation import Invitation, secret_of
from reactor.fleet.enrolment.requests import Answer, Received, Request
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.errors import WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.accounts import host_token
from reactor.fleet.operator.errors import RefusedError
from reactor.fleet.operator.invitations import Uses
from reactor.fleet.operator.keyring import AdmittingKeys, now

LIFE = 30 * 86_400
"""The lifetime in seconds of the credentials of a host."""
_ATTEMPTS = 10


@dataclass(frozen=True)
class Answered:
    """The answer for the host, and the report: the request if it could be read, and the reason of a refusal."""

    data: bytes
    request: Request | None
    refused: str = ""


class Admission:
    """Decides on requests. ``life``: the lifetime of credentials in seconds. ``clock``: seconds since 1970."""

    def __init__(
        self,
        js: JetStream,
        keys: AdmittingKeys,
        *,
        life: int = LIFE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._hosts = js.key_value(HOSTS)
        self._invitations = js.key_value(INVITATIONS)
        self._keys = keys
        self._life = life
        self._clock = clock

    async def answer(self, sent: bytes) -> Answered:
        """Decide on the message of a host. Raises LinkError; then the host repeats its request."""
        try:
            received = Received.opened(sent)
        except (DocumentError, CardError) as error:
            answer = Answer("", error.message)
            return Answered(answer.sealed(self._keys.cards), None, error.message)
        request = received.request
        try:
            decide = self._joined if request.kind == "join" else self._renewed
            answer = await decide(received)
        except (RefusedError, DocumentError, CardError) as error:
            answer = Answer(request.nonce, error.message, error.hint or "")
        return Answered(answer.sealed(self._keys.cards), request, answer.refused)

    def invitation_of(self, received: Received) -> Invitation:
        """Return the invitation of a request to join, after checking it. Raises RefusedError, DocumentError."""
        text = received.request.invitation.encode()
        if not received.is_proven_by(secret_of(text, self._keys.invitations)):
            hint = "make a new token: reactor fleet invite"
            raise RefusedError("the token is not one of this fleet, or it was changed", hint)
        invitation = Invitation.from_bytes(text)
        if invitation.expires <= self._clock():
            hint = "make a new one: reactor fleet invite; or set the clock of the machine where reactor fleet admit runs"
            raise RefusedError("the token has expired", hint)
        return invitation

    async def _joined(self, received: Received) -> Answer:
        request, invitation = received.request, self.invitation_of(received)
        for _ in range(_ATTEMPTS):
            entry = await self._hosts.last(request.host)
            is_there = entry is not None and not entry.deleted
            spec = HostSpec.from_bytes(entry.value, request.host) if entry and is_there else None
            uses = await Uses.read(self._invitations, invitation)
            card = self._card_of(spec, request) if spec else None
            if card is None:
                await uses.take(self._invitations, _use_of(request), self._clock())
                card = self._new_card(request, invitation)
                new = replace(
                    spec or HostSpec(request.host),
                    channels=invitation.channels,
                    groups=invitation.groups,
                    card=card,
                    expelled=None,
                    rejoins=False,
                )
                try:
                    await self._hosts.update(request.host, new.to_bytes(), entry.revision if entry else 0)
                except WrongRevisionError:
                    continue
            return Answer(request.nonce, jwt=self._token(request), card=card, signers=uses.signers)
        raise RefusedError("others change this host all the time", "ask again")

    def _card_of(self, spec: HostSpec, request: Request) -> SignedCard | None:
        """The card of a known host with the same keys; None if the host gets a new card. Raises RefusedError."""
        if request.key in spec.revoked_keys:
            hint = "remove fleet.creds beside fleet.yaml on the host, which then makes a new key; an operator allows it: "
            again = f"reactor fleet expel {request.host} --rekey"
            raise RefusedError(f"the key of {request.host} was revoked", hint + again)
        if spec.rejoins:
            return None
        again = f"reactor fleet expel {request.host} --rekey"
        if spec.expelled is not None:
            raise RefusedError(f"the host {request.host} was expelled", f"to let it join again: {again}")
        card = spec.card.verified(self._keys.cards.public) if spec.card else None
        if card is not None and (card.host, card.key, card.age) == (request.host, request.key, request.age):
            return spec.card
        raise RefusedError(
            f"there is a host {request.host} with other keys",
            f"give another --name; if the host was installed again: {again}",
        )

    async def _renewed(self, received: Received) -> Answer:
        request = received.request
        entry = await self._hosts.get(request.host)
        spec = HostSpec.from_bytes(entry.value, request.host) if entry else None
        card = spec.card.verified(self._keys.cards.public) if spec and spec.card else None
        if spec is None or card is None or (card.host, card.key) != (request.host, request.key):
            raise RefusedError(
                f"{request.host} is not a host of this fleet with this key", "let it join again"
            )
        return Answer(request.nonce, jwt=self._token(request), card=spec.card)

    def _new_card(self, request: Request, invitation: Invitation) -> SignedCard:
        card = Card(
            request.host,
            request.key,
            request.age,
            invitation.channels,
            invitation.groups,
            float(int(self._clock())),
        )
        return sign_card(card, self._keys.cards)

    def _token(self, request: Request) -> str:
        return host_token(self._keys, request.host, request.key, now() + self._life)


def _use_of(request: Request) -> str:
    """A short name for a host and its key, so that a host that repeats its request uses a token only once."""
    return hashlib.sha256(f"{request.host} {request.key}".encode()).hexdigest()[:16]
