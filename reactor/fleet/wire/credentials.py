"""Files with the identity of a client: ``.creds`` has a JWT and the seed of its key; an nkey file has only the seed."""

from __future__ import annotations

import base64
from typing import NamedTuple

from reactor.fleet.wire.nkeys import Key, NkeyError


class CredentialsError(ValueError):
    """The text holds no credentials."""


class Credentials(NamedTuple):
    """The identity of a client: its key, and for servers with signed accounts a JWT with its permissions."""

    key: Key
    jwt: str | None = None

    def answer(self, nonce: str) -> dict[str, str]:
        """Return the part of CONNECT that proves, with the server's nonce, the identity of the client."""
        signature = base64.urlsafe_b64encode(self.key.sign(nonce.encode())).decode().rstrip("=")
        identity = {"nkey": self.key.public} if self.jwt is None else {"jwt": self.jwt}
        return {**identity, "sig": signature}


def parse_credentials(text: str) -> Credentials:
    """Parse the content of a ``.creds`` file. Raises CredentialsError; no message shows a part of the text."""
    blocks = _blocks(text)
    jwt = next((body for label, body in blocks.items() if label.endswith("JWT")), None)
    seed = next((body for label, body in blocks.items() if label.endswith("SEED")), None)
    if jwt is None or seed is None:
        raise CredentialsError(f"it has no block for the {'JWT' if jwt is None else 'seed'}")
    return Credentials(_key(seed), jwt)


def parse_seed(text: str) -> Credentials:
    """Parse the content of an nkey file: a seed, alone or in a block, comments allowed. Raises CredentialsError."""
    seeds = [body for label, body in _blocks(text).items() if label.endswith("SEED")]
    seeds += [line.strip() for line in text.splitlines() if line.startswith("S")]
    if not seeds:
        raise CredentialsError("it has no seed of an nkey: a line that begins with SU")
    return Credentials(_key(seeds[0]))


def encode_credentials(credentials: Credentials) -> str:
    """Return the content of a ``.creds`` file."""
    blocks = (("NATS USER JWT", credentials.jwt or ""), ("USER NKEY SEED", credentials.key.seed))
    return "\n".join(f"-----BEGIN {label}-----\n{body}\n------END {label}------\n" for label, body in blocks)


def _key(seed: str) -> Key:
    try:
        return Key.from_seed(seed)
    except NkeyError as error:
        raise CredentialsError(str(error)) from None


def _blocks(text: str) -> dict[str, str]:
    """Return label -> content for each ``-----BEGIN label-----`` block."""
    found: dict[str, str] = {}
    label: str | None = None
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("---"):
            words = line.strip("-").strip()
            label = words.removeprefix("BEGIN ") if words.startswith("BEGIN ") else None
        elif label is not None and line:
            found[label] = found.get(label, "") + line
    return found
