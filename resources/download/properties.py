"""Property types of what is downloaded: URLs and checksums."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from reactor import remember_url

_CHECKSUM = re.compile(r"[0-9a-f]{64}")


def check_url(text: str) -> str:
    """``text``, if it is an http or https URL; the credentials in it are secrets from then on.

    Raises ValueError.
    """
    if not text:
        raise ValueError("it must not be empty: write where it comes from")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"this is no URL: {error}") from None
    remember_url(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("the url must be absolute, and start with http:// or https://")
    if not text.isprintable() or " " in text:
        raise ValueError("the url must not hold spaces or control characters: write them as %20")
    return text


def _check_checksum(text: str) -> str:
    if not _CHECKSUM.fullmatch(lowered := text.lower()):
        raise ValueError("a checksum is the 64 hexadecimal digits of a SHA-256: see sha256sum")
    return lowered


Checksum = Annotated[str, AfterValidator(_check_checksum)]
"""A SHA-256 in hex."""
