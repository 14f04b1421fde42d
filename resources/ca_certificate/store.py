"""The stores of trusted authorities of Debian and Fedora: their paths, and their content."""

from __future__ import annotations

import binascii
import os
import re
import shutil
import stat
from typing import NamedTuple

from reactor import ResourceError
from reactor.hostfs import open_source, read
from reactor.resources.process import (
    ENVIRONMENT,
    Command,
    missing_rights,
    output_tail,
    require_startable,
    run,
)

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----\s+([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----")
_LARGEST = 16 << 20


class Store(NamedTuple):
    """A store: the directory of what the administrator trusts, the file that programs read, and how to make it."""

    directory: str
    suffix: str
    bundle: str
    command: tuple[str, ...]

    async def update(self) -> None:
        """Make the file that programs read. Raises ResourceError."""
        done = await run(Command(self.command, "/", ENVIRONMENT, timeout=300.0))
        if done.exit_code != 0:
            words = f"{self.command[0]} failed with exit code {done.exit_code}"
            raise ResourceError(words + output_tail(done.stdout, done.stderr), missing_rights())

    async def refuse_unusable(self) -> None:
        """Raise ResourceError when the program that makes the file is missing."""
        await require_startable(Command(self.command, "/", ENVIRONMENT))


DEBIAN = Store(
    "/usr/local/share/ca-certificates",
    ".crt",
    "/etc/ssl/certs/ca-certificates.crt",
    ("update-ca-certificates",),
)
FEDORA = Store(
    "/etc/pki/ca-trust/source/anchors",
    ".pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    ("update-ca-trust", "extract"),
)


def store_of_host() -> Store:
    """The store of this host, by the program that it has; that of Debian if it has none yet."""
    is_fedora = shutil.which(FEDORA.command[0], path=ENVIRONMENT["PATH"]) is not None
    return FEDORA if is_fedora or os.path.isdir("/etc/pki/ca-trust/source") else DEBIAN


def certificates_in(pem: bytes) -> list[bytes]:
    """The certificates in PEM, each as DER; those that can't be decoded are left out."""
    found = []
    for match in _PEM.finditer(pem):
        try:
            found.append(binascii.a2b_base64(match[1]))
        except binascii.Error:
            continue
    return found


def read_file(path: str) -> bytes | None:
    """The content of a file; None if there is none. Symlinks are followed as `open_source` does. Raises OSError."""
    try:
        fd = open_source(path)
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise ResourceError(f"{path} is not a regular file, or too large", "remove it")
        return bytes(read(fd, found.st_size))
    finally:
        os.close(fd)
