"""Checks the names and versions of packages, which become arguments of the package manager."""

from __future__ import annotations

import os
import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+:~-]*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+:~^_-]*")
_LONGEST_VERSION = 255
"""Characters: more than any version has, and fewer than the digits that Python refuses to parse."""
_DANGEROUS = re.compile(r"[;&|$`<>(){}\[\]*?!#'\"\\\n]")

_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "armhf", "ppc64le": "ppc64el", "i686": "i386"}
"""The architectures of Debian whose names differ from those of the kernel."""

ALLOWED = "use letters, digits and . _ + : ~ -, as in nginx, g++ or libc6:i386"
WORDS = ("present", "absent", "purged", "latest")
GONE = ("absent", "purged")
"""The values of ``ensure`` for a package that must not be installed."""

NO_PURGE = (
    "dnf can't purge: rpm removes configuration with its package, and keeps what was changed as .rpmsave"
)
NO_PURGE_HINT = "write ensure: absent, and have file resources remove the .rpmsave files"


def name_problem(name: str) -> str | None:
    """Why ``name`` is not a valid package name; None if it is."""
    if _NAME.fullmatch(name):
        return None
    if _DANGEROUS.search(name):
        return f'package name contains dangerous characters: "{name}"'
    return f'package name contains invalid characters: "{name}" (allowed: alphanumeric, ._+:~-)'


def ensure_problem(ensure: str) -> str | None:
    """Why ``ensure`` is invalid; None if it is valid. A version contains a digit, unlike a misspelt word."""
    if not ensure:
        return "package version/ensure cannot be empty"
    if not _VERSION.fullmatch(ensure):
        return f'package version/ensure contains dangerous characters: "{ensure}"'
    if len(ensure) > _LONGEST_VERSION:
        return f"a version has {_LONGEST_VERSION} characters at most"
    if ensure not in WORDS and not re.search(r"\d", ensure):
        return f'"{ensure}" is not a version: it has no digit'
    return None


def without_native_architecture(name: str, provider: str) -> str:
    """The name without the architecture of this host: ``nginx`` for ``nginx:amd64`` or ``nginx.x86_64``.

    Another architecture stays in the name.
    """
    machine = os.uname().machine
    stem, separator, architecture = name.rpartition(":" if provider == "apt" else ".")
    natives = (_DEBIAN.get(machine, machine), "all") if provider == "apt" else (machine, "noarch")
    return stem if separator and architecture in natives else name
