"""How long the credentials in the directory of an operator are good, and when they are renewed."""

from __future__ import annotations

import time

from reactor.fleet.wire.credentials import CredentialsError, parse_credentials
from reactor.fleet.wire.tokens import TokenError, claims_of, expiry_of

_SOON = 14 * 86_400
"""Seconds before the end in which credentials are renewed; the last third, if that is less."""

_ROUNDED = 60
"""Seconds by which two lives may differ that mean the same."""


def expiry_in(path: str) -> float | None:
    """Return when credentials end, in seconds since 1970; None for never, and for a file that can't be read."""
    token = _token_in(path)
    return None if token is None else expiry_of(token)


def issue_of(path: str) -> int | None:
    """Return when credentials were issued, in seconds since 1970; None if they do not say it, and for a file that can't be read."""
    token = _token_in(path)
    issued = claims_of(token).get("iat") if token is not None else None
    return issued if isinstance(issued, int) else None


def life_of(path: str) -> float | None:
    """Return the seconds for which credentials were made; None as of `expiry_in`."""
    token, expires = _token_in(path), expiry_in(path)
    if token is None or expires is None:
        return None
    return expires - float(claims_of(token).get("iat", expires))


def ends_soon(path: str) -> bool:
    """Whether credentials have ended, or it is time to renew them."""
    expires, life = expiry_in(path), life_of(path)
    return expires is not None and life is not None and expires - time.time() < min(_SOON, life / 3)


def needs_renewal(path: str, life: float | None) -> bool:
    """Whether credentials end soon, or are not good for ``life`` seconds, which nothing asks for if it is None."""
    return ends_soon(path) or (life is not None and abs((life_of(path) or 0.0) - life) > _ROUNDED)


def _token_in(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            token = parse_credentials(file.read()).jwt
        if token is not None:
            claims_of(token)
    except (OSError, ValueError, CredentialsError, TokenError):
        return None
    return token
