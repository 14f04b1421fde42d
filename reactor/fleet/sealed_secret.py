"""A secret as the servers keep it: encrypted to one host with age, and signed with the card key.

Anyone can encrypt to a recipient, so the signature says that an operator made the value, and for which host and name: a
server can neither make up a value nor give a host the value of another name.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from reactor.fleet.documents import DocumentError, canonical, parsed
from reactor.fleet.enrolment.card import CardError, is_signed
from reactor.fleet.wire.nkeys import Key

OPERATORS = "_operators"
"""In place of the id of a host: the copy for operators. No host can have this id, so no host can read it."""
MOST_BYTES = 256 * 1024
"""The size limit of a secret, in bytes."""
_MOST_STORED = 2 * MOST_BYTES
_PURPOSE = b"reactor-secret\n"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62})")
_FIELDS = ("v", "host", "name", "for", "data", "sig")


def is_secret_name(text: str) -> bool:
    """Whether ``text`` may be the name of a secret. Such a name is safe in a subject and in a file name."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class SealedSecret:
    """``data``: encrypted with age; ``where``: the expression that chose the hosts; ``signature``: base64."""

    host: str
    name: str
    where: str
    data: bytes
    signature: str = ""

    def signed(self, key: Key) -> SealedSecret:
        """Return it with a signature of ``key``."""
        signature = base64.b64encode(key.sign(self._signed_bytes())).decode()
        return SealedSecret(self.host, self.name, self.where, self.data, signature)

    def verify(self, key: str, host: str, name: str) -> None:
        """Raise CardError unless ``key``, a public nkey, signed it for ``host`` and ``name``."""
        if (self.host, self.name) != (host, name) or not is_signed(self._signed_bytes(), self.signature, key):
            hint = f"set it again: reactor fleet secret set {name}"
            raise CardError(
                f"the secret {name} for {host} is not signed with the card key of this fleet", hint
            )

    def to_bytes(self) -> bytes:
        """Return the document as it is stored."""
        return canonical({**self._fields(), "sig": self.signature})

    @classmethod
    def from_bytes(cls, data: bytes) -> SealedSecret:
        """Read a stored document; its signature is not verified yet. Raises DocumentError."""
        document = parsed(data, "the secret", _MOST_STORED)
        document.require_version()
        document.require_known(_FIELDS)
        try:
            content = base64.b64decode(document.text("data", most=_MOST_STORED), validate=True)
        except (binascii.Error, ValueError) as error:
            raise DocumentError("the field 'data' of the secret is not base64") from error
        host, name, where = (document.text(each) for each in ("host", "name", "for"))
        return cls(host, name, where, content, document.text("sig", most=200))

    def _fields(self) -> dict[str, object]:
        data = base64.b64encode(self.data).decode()
        return {"v": 1, "host": self.host, "name": self.name, "for": self.where, "data": data}

    def _signed_bytes(self) -> bytes:
        return _PURPOSE + canonical(self._fields())
