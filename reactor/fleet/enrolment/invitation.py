"""The token of `reactor fleet invite`: it lets a host find its fleet, and prove that it is invited.

No server knows the secret of a token: it is computed from the invitation itself and a key that only operators and the
admitting service have. So an invitation can't be forged or changed, and nothing of it has to be stored but its uses.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Any

from reactor.errors import ReactorError
from reactor.fleet.documents import DocumentError, canonical, parsed, to_time_text
from reactor.fleet.enrolment.card import names_in
from reactor.fleet.wire.nkeys import Key

_PREFIX = "reactor-join-1."
_OTHER_VERSION = re.compile(r"reactor-join-\d+\.")
_PURPOSE = b"reactor-invitation\n"
_MOST_TOKEN = 64 * 1024
_MOST_CA = 32 * 1024
MOST_USES = 1000
MOST_INVITATION = 8 * 1024


class TokenError(ReactorError):
    """The text is no token of `reactor fleet invite`."""

    code = "R1021"


@dataclass(frozen=True)
class Invitation:
    """The permission to join.

    ``expires`` in seconds since 1970; ``require``: the number of signatures that a release needs on the host.
    """

    id: str
    channels: tuple[str, ...]
    groups: tuple[str, ...]
    uses: int
    expires: float
    require: int = 1

    def to_bytes(self) -> bytes:
        """Return the document from which the secret is computed."""
        fields: dict[str, Any] = {
            "v": 1,
            "id": self.id,
            "channels": list(self.channels),
            "groups": list(self.groups),
            "uses": self.uses,
            "expires": to_time_text(self.expires),
            "require": self.require,
        }
        return canonical(fields)

    @classmethod
    def from_bytes(cls, data: bytes) -> Invitation:
        """Read an invitation. Raises DocumentError."""
        document = parsed(data, "the invitation", MOST_INVITATION)
        document.require_version()
        return cls(
            id=document.name_of_host("id"),
            channels=names_in(document, "channels"),
            groups=names_in(document, "groups"),
            uses=document.integer("uses", least=1, most=MOST_USES),
            expires=document.time("expires"),
            require=document.integer("require", least=1, most=100),
        )


def secret_of(invitation: bytes, key: Key) -> bytes:
    """Return the secret of an invitation, computed with the invitation key ``key``."""
    return hmac.digest(key.seed.encode(), _PURPOSE + invitation, "sha256")


def digest_of_signers(text: str) -> str:
    """Return the digest by which a host knows the file of signers."""
    return "sha256-" + hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, repr=False)
class Token:
    """A token, decoded.

    ``ca``: PEM, None for the authorities of the system. ``jwt``, ``seed``: a NATS user that may only send requests to
    join.
    """

    servers: tuple[str, ...]
    ca: str | None
    card_key: str
    signers: str
    invitation: str
    secret: bytes
    jwt: str
    seed: str

    def to_text(self) -> str:
        """Return the token. It is a secret."""
        fields = {
            "v": 1,
            "servers": list(self.servers),
            "ca": self.ca,
            "cards": self.card_key,
            "signers": self.signers,
            "invitation": self.invitation,
            "secret": self.secret.hex(),
            "jwt": self.jwt,
            "seed": self.seed,
        }
        return _PREFIX + base64.urlsafe_b64encode(canonical(fields)).decode().rstrip("=")

    @classmethod
    def from_text(cls, text: str) -> Token:
        """Read a token; no message shows a part of it. Raises TokenError."""
        text = "".join(text.split())
        hint = "copy the whole line that reactor fleet invite printed"
        if _OTHER_VERSION.match(text) and not text.startswith(_PREFIX):
            words = "another version of reactor made this token"
            raise TokenError(words, "install the version here that the operator has: reactor --version")
        if not text.startswith(_PREFIX) or len(text) > _MOST_TOKEN:
            raise TokenError("this is not a token of reactor fleet invite", hint)
        body = text.removeprefix(_PREFIX)
        try:
            document = parsed(
                base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), "the token", _MOST_TOKEN
            )
            document.require_version()
            return cls(
                servers=document.texts("servers", most=100),
                ca=document.optional_text("ca", most=_MOST_CA),
                card_key=document.text("cards", most=100),
                signers=document.digest("signers"),
                invitation=document.text("invitation", most=MOST_INVITATION),
                secret=bytes.fromhex(document.text("secret", most=64)),
                jwt=document.text("jwt", most=MOST_INVITATION),
                seed=document.text("seed", most=100),
            )
        except (DocumentError, binascii.Error, ValueError):
            raise TokenError("the token is damaged", hint) from None

    @property
    def invited(self) -> Invitation:
        """The invitation in the token. Raises DocumentError."""
        return Invitation.from_bytes(self.invitation.encode())
