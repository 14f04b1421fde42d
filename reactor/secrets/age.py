"""Decrypts data with age, by the library pyrage, and finds the keys."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from reactor.resource.redaction import register_secret
from reactor.secrets.errors import SecretError
from reactor.secrets.files import read_key

if TYPE_CHECKING:
    from types import ModuleType

_BEGIN, _END = "-----BEGIN AGE ENCRYPTED FILE-----", "-----END AGE ENCRYPTED FILE-----"
_VERSION = b"age-encryption.org/v1\n"
_KEY = "AGE-SECRET-KEY-"
_NO_KEY = "name the file with the keys as 'identity', or in SOPS_AGE_KEY_FILE"


class Keys(NamedTuple):
    """The identities to decrypt with, and where they come from."""

    identities: tuple[Any, ...]
    origin: str


def decrypt(content: bytes, keys: Keys, what: str) -> bytes:
    """Return the plain text of ``content``, armored or not. Raises SecretError."""
    library = pyrage()
    cipher_text = _without_armor(content, what)
    if not cipher_text.startswith(_VERSION):
        raise SecretError(f"{what} is not encrypted with age", "encrypt it: age -r RECIPIENT", code="R0132")
    try:
        return bytes(library.decrypt(cipher_text, list(keys.identities)))
    except library.DecryptError as error:
        if "No matching keys" in str(error):
            hint = f"encrypt it for a key of this host too; the keys are those of {keys.origin}"
            raise SecretError(f"no key of this host opens {what}", hint, code="R0131") from None
        raise SecretError(f"{what} is damaged: {error}", "restore the file", code="R0132") from None


def keys_from(identity: str | None, environ: dict[str, str]) -> Keys:
    """Return the keys of the file ``identity``, or of the places that SOPS looks in. Raises SecretError.

    These are SOPS_AGE_KEY, SOPS_AGE_KEY_FILE and ``sops/age/keys.txt`` in the configuration of the user.
    """
    library = pyrage()
    if identity is None and (text := environ.get("SOPS_AGE_KEY")):
        return Keys(tuple(_parsed(text, library, "SOPS_AGE_KEY")), "SOPS_AGE_KEY")
    path = key_file(identity, environ)
    if path is None:
        raise SecretError("there is no age key on this host", _NO_KEY, code="R0131")
    return Keys(tuple(_parsed(read_key(path, "the key file"), library, path)), path)


def key_file(identity: str | None, environ: dict[str, str]) -> str | None:
    """Return the path of the key file; None if there is none."""
    if identity is not None:
        return identity
    if environ.get("SOPS_AGE_KEY"):
        return None
    if path := environ.get("SOPS_AGE_KEY_FILE"):
        return path
    configuration = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    usual = os.path.join(configuration, "sops/age/keys.txt")
    return usual if os.path.exists(usual) else None


def pyrage() -> ModuleType:
    """Return the library. Raises SecretError if it is not installed."""
    try:
        import pyrage as library  # noqa: PLC0415 - most runs have no such secret
    except ImportError:
        hint = "pip install 'reactor-converge[secrets]'"
        raise SecretError("age needs the library pyrage, which is missing", hint, code="R0135") from None
    found: ModuleType = library
    return found


def _parsed(text: str, library: ModuleType, origin: str) -> Iterator[Any]:
    """Yield the identities in ``text``: lines of age-keygen, or one private key of SSH."""
    register_secret([line for line in text.splitlines() if not line.startswith("#")])
    if "PRIVATE KEY-----" in text:
        try:
            yield library.ssh.Identity.from_buffer(text.encode())
        except library.IdentityError as error:
            message = f"the SSH key of {origin} can't be used: {error}"
            raise SecretError(message, "use a key of age-keygen", code="R0131") from None
        return
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise SecretError(f"{origin} has no key", "make one: age-keygen -o FILE", code="R0131")
    for line in lines:
        try:
            yield library.x25519.Identity.from_str(line)
        except (library.IdentityError, ValueError):
            kind = "a key that is not of age" if not line.startswith(_KEY) else "an invalid key"
            hint = "a line is a key of age-keygen: AGE-SECRET-KEY-1..."
            raise SecretError(f"{origin} holds {kind}", hint, code="R0131") from None


def _without_armor(content: bytes, what: str) -> bytes:
    text = content.strip()
    if not text.startswith(_BEGIN.encode()):
        return content
    body, end, rest = text.decode("ascii", "replace").removeprefix(_BEGIN).partition(_END)
    try:
        return base64.b64decode("".join(body.split()) if end and not rest else "*", validate=True)
    except (ValueError, binascii.Error):
        raise SecretError(
            f"{what} is damaged: its armor is not valid", "restore the file", code="R0132"
        ) from None
