"""Names and versions of packages: which are taken. They become arguments of the package manager."""

from __future__ import annotations

import os
import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+:~-]*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+:~^_-]*")
_LONGEST_VERSION = 255
"""More than any package has, and less than the digits of a number that Python refuses to read."""
_DANGEROUS = re.compile(r"[;&|$`<>(){}\[\]*?!#'\"\\\n]")

_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "armhf", "ppc64le": "ppc64el", "i686": "i386"}
"""What Debian calls the machines that the kernel calls otherwise."""

ALLOWED = "use letters, digits and . _ + : ~ -, as in nginx, g++ or libc6:i386"
WORDS = ("present", "absent", "purged", "latest")
GONE = ("absent", "purged")
"""The words for a package that is not to be there."""

NO_PURGE = (
    "dnf can't purge: rpm removes configuration with its package, and keeps what was changed as .rpmsave"
)
NO_PURGE_HINT = "write ensure: absent, and have file resources remove the .rpmsave files"


def fault_of_name(name: str) -> str | None:
    """What is wrong with the name of a package, if anything."""
    if _NAME.fullmatch(name):
        return None
    if _DANGEROUS.search(name):
        return f'package name contains dangerous characters: "{name}"'
    return f'package name contains invalid characters: "{name}" (allowed: alphanumeric, ._+:~-)'


def fault_of_ensure(ensure: str) -> str | None:
    """What is wrong with the desired state of a package, if anything: a version has a digit, a misspelt word none."""
    if not _VERSION.fullmatch(ensure):
        return f'package version/ensure contains dangerous characters: "{ensure}"'
    if len(ensure) > _LONGEST_VERSION:
        return f"a version has {_LONGEST_VERSION} characters at most"
    if ensure not in WORDS and not re.search(r"\d", ensure):
        return f'"{ensure}" is no version: it has no digit'
    return None


def without_native_architecture(name: str, provider: str) -> str:
    """The name by which ``provider`` knows the package as one of this host: ``nginx`` for ``nginx:amd64``, ``nginx.x86_64``.

    That of another architecture stays as it is.
    """
    machine = os.uname().machine
    stem, separator, architecture = name.rpartition(":" if provider == "apt" else ".")
    natives = (_DEBIAN.get(machine, machine), "all") if provider == "apt" else (machine, "noarch")
    return stem if separator and architecture in natives else name
