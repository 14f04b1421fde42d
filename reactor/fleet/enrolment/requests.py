"""The requests of a host to the admitting service on ``reactor.join``, and the answers.

A request is signed by the key of the host, and a first one has an HMAC by the secret of a token. Every answer is signed by
the card key and repeats the nonce of the request, so a server can neither make one up nor send an old one.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from reactor.fleet.documents import DocumentError, canonical, parsed
from reactor.fleet.enrolment.card import (
    CardError,
    SignedCard,
    is_age_recipient,
    is_signed,
    user_key_in,
)
from reactor.fleet.enrolment.invitation import MOST_INVITATION
from reactor.fleet.wire.nkeys import Key

SUBJECT = "reactor.join"
MOST_BYTES = 16 * 1024
"""The size limit of a request. An answer may have 64 KiB."""
_ASKED, _ANSWERED, _PROVEN = b"reactor-join\n", b"reactor-answer\n", b"reactor-proof\n"
_MOST_FACTS = 20


@dataclass(frozen=True)
class Request:
    """``kind``: ``join`` with an ``invitation``, or ``renew``. ``facts`` help operators who admit hosts by hand."""

    kind: Literal["join", "renew"]
    host: str
    key: str
    age: str | None = None
    invitation: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    def sealed(self, sign: Callable[[bytes], bytes], secret: bytes | None = None) -> bytes:
        """Return the bytes to send. ``sign`` signs with the host's key; ``secret`` is the secret of the token."""
        fields: dict[str, Any] = vars(self) | {"v": 1, "facts": dict(self.facts)}
        data = canonical(fields)
        envelope = {"data": data.decode(), "sig": base64.b64encode(sign(_ASKED + data)).decode()}
        if secret is not None:
            envelope["mac"] = hmac.digest(secret, _PROVEN + data, "sha256").hex()
        return canonical(envelope)


@dataclass(frozen=True)
class Received:
    """A request whose signature is good. Only `is_proven_by` shows that it is invited."""

    request: Request
    data: bytes
    mac: str

    @classmethod
    def opened(cls, sent: bytes) -> Received:
        """Read the message of a host. Raises DocumentError, CardError."""
        envelope = parsed(sent, "the request", MOST_BYTES)
        data = envelope.text("data", most=MOST_BYTES).encode()
        request = _request(data)
        if not is_signed(_ASKED + data, envelope.text("sig", most=200), request.key):
            raise CardError("the request is not signed by its own key")
        return cls(request, data, envelope.optional_text("mac", most=64) or "")

    def is_proven_by(self, secret: bytes) -> bool:
        """Whether the HMAC was made with ``secret``."""
        expected = hmac.digest(secret, _PROVEN + self.data, "sha256").hex()
        return hmac.compare_digest(expected.encode(), self.mac.encode())


def _request(data: bytes) -> Request:
    document = parsed(data, "the request", MOST_BYTES)
    document.require_version()
    age = document.optional_text("age", most=100)
    if age is not None and not is_age_recipient(age):
        raise DocumentError("the field 'age' of the request is not an age recipient")
    facts = document.part("facts").fields
    if len(facts) > _MOST_FACTS or not all(isinstance(each, str) for each in facts.values()):
        raise DocumentError(f"the field 'facts' of the request is not a map of at most {_MOST_FACTS} strings")
    return Request(
        kind=document.one_of("kind", ("join", "renew")),  # type: ignore[arg-type]
        host=document.name_of_host("host"),
        key=user_key_in(document, "key"),
        age=age,
        invitation=document.text("invitation", most=MOST_INVITATION),
        facts={str(name)[:50]: str(value)[:200] for name, value in facts.items()},
        nonce=document.text("nonce", most=64),
    )


@dataclass(frozen=True)
class Answer:
    """The answer to a request.

    ``refused``: the reason, empty if admitted. Then ``jwt`` and ``card`` are set, after a first request also
    ``signers``.
    """

    nonce: str
    refused: str = ""
    hint: str = ""
    jwt: str | None = None
    card: SignedCard | None = None
    signers: str | None = None

    def sealed(self, cards: Key) -> bytes:
        """Return the bytes to send, signed with the card key."""
        fields: dict[str, Any] = vars(self) | {"v": 1, "card": self.card.to_fields() if self.card else None}
        data = canonical(fields)
        signature = base64.b64encode(cards.sign(_ANSWERED + data)).decode()
        return canonical({"data": data.decode(), "sig": signature})

    @classmethod
    def opened(cls, sent: bytes, card_key: str, nonce: str) -> Answer:
        """Read the answer to the request with ``nonce``. Raises DocumentError, CardError."""
        envelope = parsed(sent, "the answer")
        data = envelope.text("data", most=len(sent)).encode()
        if not is_signed(_ANSWERED + data, envelope.text("sig", most=200), card_key):
            hint = "another program answers in its place; see who may connect to the servers"
            raise CardError("the answer is not from the admitting service of this fleet", hint)
        document = parsed(data, "the answer")
        document.require_version()
        if document.text("nonce", most=64) != nonce:
            raise CardError("the answer is to another request")
        card = document.fields.get("card")
        return cls(
            nonce=nonce,
            refused=document.text("refused"),
            hint=document.text("hint"),
            jwt=document.optional_text("jwt", most=MOST_BYTES),
            card=None if card is None else SignedCard.of(document.part("card")),
            signers=document.optional_text("signers", most=len(data)),
        )
