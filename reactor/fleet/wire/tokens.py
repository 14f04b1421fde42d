"""Reads JWTs of NATS (version 2), and signs them with an nkey."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from reactor.fleet.wire.nkeys import Key, verify

_HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}
_PARTS = 3
_LONGEST = 1 << 20


class TokenError(ValueError):
    """The text is no JWT of NATS."""


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a JWT. Its signature is not checked: the server does that. Raises TokenError."""
    parts = token.strip().split(".")
    if len(parts) != _PARTS or len(token) > _LONGEST:
        raise TokenError("not a JWT: it does not have three parts")
    try:
        claims = json.loads(_decoded(parts[1]))
    except (ValueError, RecursionError):
        raise TokenError("not a JWT: its claims are not JSON") from None
    if not isinstance(claims, dict):
        raise TokenError("not a JWT: its claims are not JSON object")
    return claims


def expiry_of(token: str) -> float | None:
    """Return when the JWT expires, in seconds since 1970, None for never. Raises TokenError."""
    when = claims_of(token).get("exp")
    return float(when) if isinstance(when, int | float) and when > 0 else None


def signed_token(
    role: Literal["operator", "account", "user"],
    subject: str,
    name: str,
    issuer: Key,
    nats: Mapping[str, Any],
    *,
    issued: int,
    expires: int | None = None,
) -> str:
    """Return a JWT for the public key ``subject``. Times are seconds since 1970; ``nats`` are the claims of its role."""
    claims: dict[str, Any] = {"iat": issued, "iss": issuer.public, "name": name, "sub": subject}
    claims["nats"] = {**nats, "type": role, "version": 2}
    if expires is not None:
        claims["exp"] = expires
    digest = hashlib.new("sha512_256", json.dumps(claims).encode()).digest()
    claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
    text = f"{_encoded(json.dumps(_HEADER).encode())}.{_encoded(json.dumps(claims).encode())}"
    return f"{text}.{_encoded(issuer.sign(text.encode()))}"


def has_good_signature(token: str) -> bool:
    """Return whether the key that the JWT names as its issuer signed it. Raises TokenError or NkeyError."""
    issuer = claims_of(token).get("iss")
    text, _, signature = token.strip().rpartition(".")
    try:
        return isinstance(issuer, str) and verify(issuer, text.encode(), _decoded(signature))
    except UnicodeEncodeError:
        raise TokenError("not a JWT: it is not ASCII") from None


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
