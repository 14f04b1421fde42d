"""The desired content of a certificate: names, key, usages and lifetime. Needs no cryptography."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Literal

from pydantic import AfterValidator

_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_DNS_NAME = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*", re.IGNORECASE)
_LONGEST_DNS_NAME = 253
LONGEST_COMMON_NAME = 64

KeyType = Literal["rsa", "ec", "ed25519"]
Usage = Literal[
    "server_auth", "client_auth", "code_signing", "email_protection", "time_stamping", "ocsp_signing"
]
SIZES = {"rsa": (2048, 3072, 4096, 8192), "ec": (256, 384, 521), "ed25519": (256,)}
"""The sizes of keys in bits, the default first."""


def is_address(name: str) -> bool:
    """Whether the name is an IP address."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _check_name(name: str) -> str:
    if is_address(name):
        return str(ip_address(name))
    if len(name) > _LONGEST_DNS_NAME or not _DNS_NAME.fullmatch(name):
        ascii_only = "" if name.isascii() else "; write a name with other letters in its ASCII form, xn--..."
        raise ValueError(f"{name!r} is not the name or address of a host: write app.example.com{ascii_only}")
    return name.lower()


HostName = Annotated[str, AfterValidator(_check_name)]
"""The DNS name of a host, also with ``*.`` before it, or its IP address."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The desired content of a certificate. ``valid_for`` is in seconds."""

    names: tuple[str, ...]
    common_name: str | None
    key_type: KeyType
    key_size: int
    usages: tuple[Usage, ...]
    is_authority: bool
    valid_for: float
