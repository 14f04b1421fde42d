"""Verifies the signatures of ``ssh-keygen -Y sign`` (SSHSIG), with Ed25519 keys and Ed25519 keys in hardware (sk).

The format is PROTOCOL.sshsig and PROTOCOL.u2f of OpenSSH.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from reactor.errors import ReactorError

MOST_BYTES = 16 * 1024
"""The size limit of all signatures of one document."""

_BLOCK = re.compile(r"-----BEGIN SSH SIGNATURE-----\s*([A-Za-z0-9+/=\s]+?)-----END SSH SIGNATURE-----\s*")
_MAGIC = b"SSHSIG"
_PLAIN, _HARDWARE = b"ssh-ed25519", b"sk-ssh-ed25519@openssh.com"
KEY_TYPES = {_PLAIN.decode(): 2, _HARDWARE.decode(): 3}
"""The supported types of keys, and the number of strings in each."""
_HASHES = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_TOUCHED = 1
_AFTER_HARDWARE = 5
"""A signature of hardware ends with a byte of flags and a counter of 4 bytes."""


class SignatureError(ReactorError):
    """A document is not signed as this host requires."""

    code = "R1005"


class Signature(NamedTuple):
    """One signature, parsed: the public key in the form of SSH, the namespace, and what `is_good` needs."""

    key: bytes
    namespace: str
    reserved: bytes
    algorithm: bytes
    raw: bytes


def parse_signatures(text: bytes) -> list[Signature]:
    """Return the signatures in a file of one or several armored blocks. Raises SignatureError."""
    if len(text) > MOST_BYTES:
        raise SignatureError(f"the signatures have {len(text)} bytes, and at most {MOST_BYTES} are allowed")
    try:
        armored = text.decode("ascii")
    except UnicodeDecodeError as error:
        raise SignatureError("the signature is not in the format of ssh-keygen -Y sign") from error
    blocks = _BLOCK.findall(armored)
    if not blocks or _BLOCK.sub("", armored).strip():
        raise SignatureError("the signature is not in the format of ssh-keygen -Y sign")
    return [_parsed(block) for block in blocks]


def _parsed(block: str) -> Signature:
    try:
        body = base64.b64decode("".join(block.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SignatureError("the signature is damaged: it is not base64") from error
    if body[:6] != _MAGIC or body[6:10] != b"\0\0\0\1":
        raise SignatureError("the signature is not an SSH signature of version 1")
    (key, namespace, reserved, algorithm, raw), rest = _strings(body[10:], 5)
    if rest or algorithm not in _HASHES:
        raise SignatureError("the signature is damaged, or of a hash that is not known here")
    return Signature(key, namespace.decode("utf-8", "replace"), reserved, algorithm, raw)


def is_good(signature: Signature, data: bytes) -> bool:
    """Whether ``signature`` fits ``data`` and its own key. Raises SignatureError for a key that is not understood."""
    kind, public, application = key_parts(signature.key)
    (raw_kind, raw), rest = _strings(signature.raw, 2)
    if raw_kind != kind or (kind == _PLAIN and rest) or (kind == _HARDWARE and len(rest) != _AFTER_HARDWARE):
        raise SignatureError("the signature is damaged: it does not fit the type of its key")
    digest = _HASHES[signature.algorithm](data).digest()
    fields = (signature.namespace.encode(), signature.reserved, signature.algorithm, digest)
    message = _MAGIC + b"".join(struct.pack(">I", len(field)) + field for field in fields)
    if kind == _HARDWARE:
        if not rest[0] & _TOUCHED:
            raise SignatureError("the hardware key signed without a touch")
        message = hashlib.sha256(application).digest() + rest + hashlib.sha256(message).digest()
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(raw, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def key_parts(key: bytes) -> tuple[bytes, bytes, bytes]:
    """Return type, public key and application (of hardware) of a key. Raises SignatureError."""
    (kind,), _ = _strings(key, 1)
    count = KEY_TYPES.get(kind.decode("ascii", "replace"))
    if count is None:
        words = f"a key of type {kind.decode('ascii', 'replace')} is not allowed to sign"
        raise SignatureError(words, "use an Ed25519 key: ssh-keygen -t ed25519")
    parts, rest = _strings(key, count)
    if rest or len(parts[1]) != 32:  # noqa: PLR2004 - the bytes of an Ed25519 key
        raise SignatureError("the key of the signature is damaged")
    return kind, parts[1], parts[2] if count > 2 else b""  # noqa: PLR2004 - the third is of hardware


def _strings(data: bytes, count: int) -> tuple[list[bytes], bytes]:
    """Take ``count`` strings off ``data``; return them and the rest."""
    found = []
    for _ in range(count):
        length = int.from_bytes(data[:4], "big")
        if len(data) < 4 + length:
            raise SignatureError("the signature is damaged: it is cut short")
        found.append(data[4 : 4 + length])
        data = data[4 + length :]
    return found, data
