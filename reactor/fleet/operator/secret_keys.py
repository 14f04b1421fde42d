"""The age key of operators, and encryption to hosts. With the key, `sync` can read a secret that was set before."""

from __future__ import annotations

import os
from types import ModuleType

from reactor.atomic_write import replace_file
from reactor.fleet.enrolment.card import Card
from reactor.fleet.operator.errors import SecretRefusedError

AGE_KEY = "secrets-age.key"
"""The file with the age key, in the directory of the operator."""
_PRIVATE = 0o600


class SecretKeys:
    """The age key in the directory of an operator. It is made when the first secret is set."""

    def __init__(self, directory: str, *, make: bool) -> None:
        """Read the key; with ``make``, make a missing one. Raises SecretRefusedError, OSError."""
        import pyrage  # noqa: PLC0415 - only the commands of secrets need it

        self.path = os.path.join(directory, AGE_KEY)
        self._library: ModuleType = pyrage
        if make and not os.path.lexists(self.path):
            replace_file(self.path, f"{self._library.x25519.Identity.generate()}\n".encode(), _PRIVATE)
        try:
            with open(self.path, encoding="ascii") as file:
                self._identity = self._library.x25519.Identity.from_str(file.read().strip())
        except FileNotFoundError as error:
            hint = "copy it from the directory of the operator who set the secret, or set the secret again"
            raise SecretRefusedError(f"there is no {self.path}", hint) from error
        except (ValueError, self._library.IdentityError) as error:
            raise SecretRefusedError(f"the age key in {self.path} can't be used", "restore it") from error

    def encrypt_for_operators(self, value: bytes) -> bytes:
        """Encrypt ``value`` to this key."""
        return bytes(self._library.encrypt(value, [self._identity.to_public()]))

    def encrypt_for(self, card: Card, value: bytes) -> bytes:
        """Encrypt ``value`` to the age recipient of a card."""
        return bytes(self._library.encrypt(value, [self._library.x25519.Recipient.from_str(card.age)]))

    def decrypt(self, data: bytes, name: str) -> bytes:
        """Decrypt a value of `encrypt_for_operators`. Raises SecretRefusedError."""
        try:
            return bytes(self._library.decrypt(data, [self._identity]))
        except self._library.DecryptError as error:
            hint = f"use the {AGE_KEY} of the operator who set it, or set it again"
            raise SecretRefusedError(
                f"the key in {self.path} does not open the secret {name}", hint
            ) from error
