"""Public keys for tests, as ssh-keygen makes them: of random bytes, so that no private key is left anywhere."""

from __future__ import annotations

import base64
import random


def fields(*parts):
    data = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return base64.b64encode(data).decode()


def ed25519(seed=0, comment=""):
    blob = fields(b"ssh-ed25519", random.Random(seed).randbytes(32))
    return " ".join(filter(None, ("ssh-ed25519", blob, comment)))


def rsa(bits, seed=0):
    modulus = random.Random(seed).getrandbits(bits) | 1 << bits - 1
    blob = fields(b"ssh-rsa", b"\x01\x00\x01", modulus.to_bytes(bits // 8 + 1, "big"))
    return f"ssh-rsa {blob}"


P256 = bytes.fromhex(
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
)
"""A point of the curve: programs check that it is one."""


def ecdsa(curve, point):
    return f"ecdsa-sha2-{curve} {fields(f'ecdsa-sha2-{curve}'.encode(), curve.encode(), point)}"


def sk_ed25519():
    kind = "sk-ssh-ed25519@openssh.com"
    return f"{kind} {fields(kind.encode(), bytes(32), b'ssh:')}"


def sk_ecdsa():
    kind = "sk-ecdsa-sha2-nistp256@openssh.com"
    return f"{kind} {fields(kind.encode(), b'nistp256', P256, b'ssh:')}"
