"""nkeys: Ed25519 keys written in base32, with a letter for the role and a checksum."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

Role = Literal["account", "cluster", "operator", "server", "user"]

_PREFIX: dict[Role, int] = {
    "account": 0,
    "cluster": 2 << 3,
    "operator": 14 << 3,
    "server": 13 << 3,
    "user": 20 << 3,
}
_SEED = 18 << 3
_RAW = 32


class NkeyError(ValueError):
    """The text is no nkey, or it is damaged."""


class Key:
    """A private key: the seed of an operator, account, user, server or cluster."""

    def __init__(self, role: Role, raw: bytes) -> None:
        """``raw``: the 32 bytes of the private key."""
        self.role = role
        self._raw = raw
        self._private = _private_key(raw)

    @classmethod
    def from_seed(cls, seed: str) -> Key:
        """Parse a seed such as ``SUAC...``. Raises NkeyError."""
        raw = _opened(seed)
        if len(raw) != _RAW + 2 or raw[0] & 0xF8 != _SEED:
            raise NkeyError("not the seed of an nkey: it begins with SU, SA or SO and has 58 characters")
        return cls(_role((raw[0] & 7) << 5 | raw[1] >> 3), raw[2:])

    @classmethod
    def generate(cls, role: Role = "user") -> Key:
        """Make a new key."""
        import secrets  # noqa: PLC0415 - few need a new key

        return cls(role, secrets.token_bytes(_RAW))

    @property
    def seed(self) -> str:
        """The private key as text. It is a secret."""
        prefix = _PREFIX[self.role]
        return _sealed(bytes((_SEED | prefix >> 5, (prefix & 31) << 3)) + self._raw)

    @property
    def public(self) -> str:
        """The public key as text, such as ``UDXU4R...``."""
        return _sealed(bytes((_PREFIX[self.role],)) + self._private.public_key().public_bytes_raw())

    def sign(self, data: bytes) -> bytes:
        """Return the signature, of 64 bytes."""
        return self._private.sign(data)

    def __repr__(self) -> str:
        return f"Key({self.public})"


def verify(public: str, data: bytes, signature: bytes) -> bool:
    """Return whether the owner of the public key signed ``data``. Raises NkeyError for a malformed key."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - see _private_key

    try:
        _public_key(public).verify(signature, data)
    except InvalidSignature:
        return False
    return True


def role_of(public: str) -> Role:
    """Return the role of a public key, such as user. Raises NkeyError."""
    raw = _opened(public)
    if len(raw) != _RAW + 1:
        raise NkeyError("not a public nkey")
    return _role(raw[0])


def _role(prefix: int) -> Role:
    for role, number in _PREFIX.items():
        if number == prefix:
            return role
    raise NkeyError("an nkey of an unknown sort")


def _private_key(raw: bytes) -> Ed25519PrivateKey:
    # Importing it takes 20 ms, and it is an extra: a connection without nkeys does without.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    return Ed25519PrivateKey.from_private_bytes(raw)


def _public_key(public: str) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    role_of(public)
    return Ed25519PublicKey.from_public_bytes(_opened(public)[1:])


def _sealed(raw: bytes) -> str:
    checksum = binascii.crc_hqx(raw, 0).to_bytes(2, "little")
    return base64.b32encode(raw + checksum).decode().rstrip("=")


def _opened(text: str) -> bytes:
    """Decode a key and verify its checksum. Messages don't show the key: it may be a seed."""
    text = text.strip()
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except ValueError:
        raise NkeyError("not an nkey: it is not base32") from None
    if len(raw) < 3 or binascii.crc_hqx(raw[:-2], 0) != int.from_bytes(raw[-2:], "little"):  # noqa: PLR2004
        raise NkeyError("the nkey is damaged: its checksum differs")
    return raw[:-2]
