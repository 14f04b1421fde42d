"""Credentials within URLs and header fields: whatever a manifest says, they are secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from reactor.resource.redaction import register_secret

_NAMES = re.compile(r"auth|cookie|token|key|secret|pass|pwd|sig|credential|session|jwt", re.IGNORECASE)
"""What credentials are called in a query or a header: ``access_token``, ``X-Amz-Signature``, ``sig``."""


def register_url_secrets(url: str) -> None:
    """Never show the password in ``url``, a user without one, which is a token, and what its query is signed with."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    found = parts.password or parts.username or ""
    query = parse_qsl(parts.query, keep_blank_values=True)
    register_secret([found, unquote(found), *(value for name, value in query if _NAMES.search(name))])


def register_header_secrets(headers: Mapping[str, str]) -> None:
    """Never show what header fields hold whose names say that it proves who we are."""
    for name, value in headers.items():
        if _NAMES.search(name):
            register_secret([value, value.split(" ")[-1]])
