"""Parses public keys of OpenSSH: a type, a blob in base64, and a comment."""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from typing import NamedTuple

_ED25519_BYTES = 32
_SMALLEST_RSA = 1024  # bits; sshd refuses shorter ones
_CURVES = {"nistp256": 65, "nistp384": 97, "nistp521": 133}
"""The bytes of a point on each curve."""
TYPES = (
    "ssh-ed25519", "ssh-rsa", *(f"ecdsa-sha2-{curve}" for curve in _CURVES),
    "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com",
)  # fmt: skip
"""The types of keys that OpenSSH uses."""


class PublicKey(NamedTuple):
    """One key. ``blob`` is base64. The comment is no part of its identity; it is empty if there is none."""

    type: str
    blob: str
    comment: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        """The type and the blob."""
        return self.type, self.blob


@lru_cache(maxsize=4096)
def check(text: str) -> str:
    """Return the key ``text`` without blanks around it. Raises ValueError, as `parse`."""
    parse(text)
    return text.strip()


def parse(text: str) -> PublicKey:
    """Parse ``TYPE BLOB [COMMENT]``. Raises ValueError, which never quotes the blob, for anything else."""
    if "PRIVATE KEY" in text:
        raise ValueError("this is a private key: write the public one, which ssh-keygen -y -f FILE prints")
    if not text.isprintable():
        raise ValueError("a key is one line of text")
    kind, _, rest = text.strip().partition(" ")
    blob, _, comment = rest.strip().partition(" ")
    if kind == "ssh-dss":
        raise ValueError(
            "OpenSSH no longer accepts keys of type ssh-dss: make one with ssh-keygen -t ed25519"
        )
    if kind not in TYPES:
        raise ValueError(f"a key begins with its type, which is one of {', '.join(TYPES)}")
    if not blob:
        raise ValueError(f"nothing follows the type {kind}: write the whole line of the .pub file")
    _check(kind, _decoded(blob))
    return PublicKey(kind, blob, comment.strip())


def is_blob_of(kind: bytes, blob: bytes) -> bool:
    """Whether ``blob`` is base64 that names ``kind`` as its type. True for types of later versions, too."""
    try:
        data = base64.b64decode(blob, validate=True)
    except binascii.Error:
        return False
    return bool(kind) and data.startswith(len(kind).to_bytes(4, "big") + kind)


def _decoded(blob: str) -> bytes:
    try:
        return base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(
            "the second word of a key is base64, and this is not: copy the whole .pub file"
        ) from None


def _check(kind: str, data: bytes) -> None:
    """Raise ValueError unless ``data`` is a key of type ``kind``."""
    name, *parts = _fields(data)
    if name != kind.encode():
        shown = name.decode("ascii", "replace")
        raise ValueError(
            f"the key says that its type is {shown if shown.isprintable() else 'another'}, not {kind}"
        )
    plain = kind.removeprefix("sk-").removesuffix("@openssh.com")
    if kind.startswith("sk-") and parts:
        parts.pop()  # the application
    if plain == "ssh-rsa":
        _check_rsa(parts)
        return
    curve = plain.rpartition("-")[2]
    points = {"ssh-ed25519": (_ED25519_BYTES,)}.get(plain, (len(curve), _CURVES.get(curve, 0)))
    if tuple(map(len, parts)) != points or (len(parts) > 1 and parts[0] != curve.encode()):
        raise ValueError(f"the key is damaged: it does not have the length of {kind}")


def _check_rsa(parts: list[bytes]) -> None:
    if len(parts) != 2:  # noqa: PLR2004 - exponent and modulus
        raise ValueError("the key is damaged: it does not have the parts of ssh-rsa")
    bits = int.from_bytes(parts[1], "big").bit_length()
    if bits < _SMALLEST_RSA:
        raise ValueError(f"the RSA key has {bits} bits, and sshd takes none below {_SMALLEST_RSA}")


def _fields(data: bytes) -> list[bytes]:
    """The fields of a blob: each with its length before it. Raises ValueError if the blob ends too early."""
    found: list[bytes] = []
    at = 0
    while at < len(data) or not found:
        size = int.from_bytes(data[at : at + 4], "big")
        field = data[at + 4 : at + 4 + size]
        if len(data) - at < 4 or len(field) != size:  # noqa: PLR2004 - bytes of a length
            raise ValueError("the key is damaged: its end is missing")
        found.append(field)
        at += 4 + size
    return found
