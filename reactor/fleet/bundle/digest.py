"""The name of a bundle: ``sha256-`` and the digest of its bytes in hexadecimal; and that of the manifest in it."""

from __future__ import annotations

import hashlib
import re

MANIFEST = "manifest.yaml"
"""The manifest of a bundle, in its top directory."""
_NAME = re.compile(r"sha256-[0-9a-f]{64}")
_PREFIX = "sha256-"


def digest_of(data: bytes) -> str:
    """Return the name of the bundle with these bytes."""
    return _PREFIX + hashlib.sha256(data).hexdigest()


def named(hexdigest: str) -> str:
    """Return the name for a SHA-256 in hexadecimal."""
    return _PREFIX + hexdigest


def is_digest(name: object) -> bool:
    """Whether ``name`` is the name of a bundle. Such a name is safe as the name of a file."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None
