"""The card of a host: its id, its keys, its channels and groups. It is signed with the fleet's card key.

The host gets the public card key when it joins.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any

from reactor.errors import ReactorError
from reactor.fleet.documents import Document, DocumentError, canonical, is_host_id, parsed, to_time_text
from reactor.fleet.wire.nkeys import Key, NkeyError, role_of, verify

_PURPOSE = b"reactor-card\n"
"""The signed bytes begin with their purpose, so that a signature is good for nothing else."""
_RECIPIENT = re.compile(r"age1[02-9ac-hj-np-z]{58}")
_FIELDS = ("v", "host", "key", "age", "channels", "groups", "issued")


class CardError(ReactorError):
    """A card is not signed with this fleet's card key, or belongs to another host."""

    code = "R1020"


def is_age_recipient(text: str) -> bool:
    """Whether ``text`` has the form of the public part of an age key."""
    return _RECIPIENT.fullmatch(text) is not None


@dataclass(frozen=True)
class Card:
    """``key``: the public nkey of the host; ``age``: its age recipient, None without one. ``issued`` in seconds since 1970."""

    host: str
    key: str
    age: str | None
    channels: tuple[str, ...]
    groups: tuple[str, ...]
    issued: float

    def to_bytes(self) -> bytes:
        """Return the document that is signed."""
        fields: dict[str, Any] = {
            "v": 1,
            "host": self.host,
            "key": self.key,
            "age": self.age,
            "channels": list(self.channels),
            "groups": list(self.groups),
            "issued": to_time_text(self.issued),
        }
        return canonical(fields)

    @classmethod
    def from_bytes(cls, data: bytes) -> Card:
        """Read a card. Raises DocumentError."""
        document = parsed(data, "the card")
        document.require_version()
        document.require_known(_FIELDS)
        age = document.optional_text("age", most=100)
        if age is not None and not is_age_recipient(age):
            raise DocumentError("the field 'age' of the card is not an age recipient")
        return cls(
            host=document.name_of_host("host"),
            key=user_key_in(document, "key"),
            age=age,
            channels=names_in(document, "channels"),
            groups=names_in(document, "groups"),
            issued=document.time("issued"),
        )


@dataclass(frozen=True)
class SignedCard:
    """A card as it was signed. ``signature``: base64."""

    data: str
    signature: str

    def to_fields(self) -> dict[str, str]:
        """Return the fields of the JSON document."""
        return {"data": self.data, "sig": self.signature}

    def to_bytes(self) -> bytes:
        """Return the content of its file."""
        return canonical(self.to_fields())

    @classmethod
    def of(cls, document: Document) -> SignedCard:
        """Read it from the fields of a document. Raises DocumentError."""
        return cls(document.text("data", most=16_384), document.text("sig", most=200))

    def verified(self, key: str) -> Card:
        """Return the card, if ``key``, a public nkey, signed it. Raises CardError, DocumentError."""
        if not is_signed(_PURPOSE + self.data.encode(), self.signature, key):
            hint = "let the host join again, with a token of this fleet"
            raise CardError("the card is not signed with the card key of this fleet", hint)
        return Card.from_bytes(self.data.encode())


def sign_card(card: Card, key: Key) -> SignedCard:
    """Return the card, signed with ``key``."""
    data = card.to_bytes()
    return SignedCard(data.decode(), base64.b64encode(key.sign(_PURPOSE + data)).decode())


def is_signed(data: bytes, signature: str, key: str) -> bool:
    """Whether ``signature``, in base64, is a signature of ``data`` that the public nkey ``key`` verifies."""
    try:
        return verify(key, data, base64.b64decode(signature, validate=True))
    except (NkeyError, binascii.Error, ValueError):
        return False


def user_key_in(document: Document, name: str) -> str:
    """The public nkey of a user in a field. Raises DocumentError."""
    key = document.text(name, most=100)
    try:
        if role_of(key) == "user" and key == key.strip():
            return key
    except NkeyError:
        pass
    raise DocumentError(f"the field {name!r} of {document.what} is not the public nkey of a user")


def names_in(document: Document, name: str) -> tuple[str, ...]:
    """Names of channels or groups in a field. Raises DocumentError."""
    names = document.texts(name, most=100)
    for each in names:
        if not is_host_id(each):
            raise DocumentError(
                f"the field {name!r} of {document.what} has {each!r} that is not a valid name"
            )
    return names
