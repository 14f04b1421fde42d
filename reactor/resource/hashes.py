"""BLAKE2b, and SHA-256 for short data, without `hashlib`: it loads OpenSSL, which takes 3 ms and 5 MiB of memory.

The functions of Python itself are used, or those of hashlib where an interpreter was built without them. For long data,
OpenSSL makes a SHA-256 in a sixth of the time.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any

__all__ = ["blake2b", "sha256"]

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b


def _module_with_sha256() -> Any:
    for name in ("_sha2", "_sha256"):  # since and before Python 3.12
        with suppress(ImportError):
            return import_module(name)
    return import_module("hashlib")


sha256 = _module_with_sha256().sha256
