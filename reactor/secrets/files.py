"""Opens the files of secrets by the rule for inputs: no other user may be able to change them."""

from __future__ import annotations

import os
import stat

from reactor.secrets.errors import SecretError
from reactor.trust.inputs import open_input
from reactor.trust.rule import DistrustedError

MAX_BYTES = 4 * 2**20
"""The largest file of secrets, in bytes."""


def read_bytes(path: str, what: str) -> bytes:
    """Return the content of a regular file. ``what`` names it in errors. Raises SecretError."""
    try:
        descriptor = open_input(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise SecretError(f"can't read {what} {path}: not a regular file", "name a file")
            content = stream.read(MAX_BYTES + 1)
    except DistrustedError as error:
        raise SecretError(f"{what} {path} can't be trusted: {error}", error.hint) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = "check the path, and the permissions of the file and of the directories above it"
        raise SecretError(f"can't read {what} {path}: {reason}", hint) from error
    if len(content) > MAX_BYTES:
        raise SecretError(f"{what} {path} is larger than {MAX_BYTES // 2**20} MiB", "is this the right file?")
    return content


def read_key(path: str, what: str) -> str:
    """Return the text of a file that holds a key or token. Raises SecretError, also if other users can read it."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = 0
    if mode & 0o004:
        raise SecretError(f"{what} {path} can be read by every user", f"chmod 600 {path}")
    return as_text(read_bytes(path, what), f"{what} {path}")


def as_text(content: bytes, what: str) -> str:
    """Return ``content`` as text. Raises SecretError; the message quotes nothing of it."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        hint = "a secret is text: encode bytes in base64, and decode them where they are used"
        raise SecretError(f"{what} is not UTF-8 text", hint) from None
