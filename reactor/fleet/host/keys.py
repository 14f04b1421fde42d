"""The keys that a host makes for itself and never sends: its nkey, and an age key for its secrets."""

from __future__ import annotations

import os
from contextlib import suppress

from reactor.atomic_write import replace_file
from reactor.fleet.enrolment.card import CardError
from reactor.fleet.link.options import read_small_file
from reactor.fleet.wire.credentials import Credentials, CredentialsError, encode_credentials, parse_seed
from reactor.fleet.wire.nkeys import Key

PRIVATE = 0o600


class FileKeys:
    """The nkey in ``credentials``, or, until the host has any, in a file beside it."""

    def __init__(self, credentials: str) -> None:
        """Read the key. Raises CardError if there is none, ContextError."""
        self._credentials = credentials
        path = credentials if os.path.lexists(credentials) else _waiting(credentials)
        try:
            self._key = parse_seed(read_small_file(path, "key", "")).key
        except CredentialsError as error:
            raise CardError(
                f"the key in {path} can't be used: {error}", "restore it, or remove it"
            ) from error

    @classmethod
    def made(cls, credentials: str) -> FileKeys:
        """Make the key, unless it is there. Raises CardError, ContextError, OSError."""
        waiting = _waiting(credentials)
        if not os.path.lexists(credentials) and not os.path.lexists(waiting):
            replace_file(waiting, (Key.generate("user").seed + "\n").encode(), PRIVATE)
        return cls(credentials)

    @property
    def public(self) -> str:
        """The public nkey."""
        return self._key.public

    def sign(self, nonce: bytes) -> bytes:
        """Return the signature of ``nonce``."""
        return self._key.sign(nonce)

    def save(self, jwt: str) -> None:
        """Write the credentials with a new JWT. Raises OSError."""
        text = encode_credentials(Credentials(self._key, jwt))
        replace_file(self._credentials, text.encode(), PRIVATE)
        with suppress(FileNotFoundError):
            os.unlink(_waiting(self._credentials))


def age_recipient(path: str) -> str:
    """Return the recipient of the age key in ``path``, which is made unless it is there.

    Raises CardError, ContextError, OSError.
    """
    from pyrage import IdentityError, x25519  # noqa: PLC0415 - only a host that joins needs it

    if not os.path.lexists(path):
        replace_file(path, f"{x25519.Identity.generate()}\n".encode(), PRIVATE)
    lines = read_small_file(path, "age key", "").splitlines()
    seed = next((line for line in lines if line.startswith("AGE-SECRET-KEY-")), "")
    try:
        return str(x25519.Identity.from_str(seed).to_public())
    except IdentityError as error:
        raise CardError(f"the age key in {path} can't be used", "restore it, or remove it") from error


def _waiting(credentials: str) -> str:
    return credentials + ".key"
