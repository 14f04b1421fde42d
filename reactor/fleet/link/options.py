"""How to connect: servers, identity, TLS. Made by hand or from a context of the ``nats`` CLI."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import NamedTuple

from reactor.fleet.link.errors import ContextError

_LARGEST_FILE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``origin`` names where the options are written, for hints. Paths are absolute; secrets are not shown by repr.

    ``renewal`` says how credentials that have expired are renewed, and ``remedy`` what to do when a server refuses them,
    for hints; ``authority`` says how to name the CA. ``fixed_servers``: ignore the servers that a server announces, as
    behind a tunnel or a load balancer.
    """

    servers: tuple[str, ...]
    name: str = "reactor"
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    credentials: str | None = None
    nkey: str | None = None
    jwt: str | None = field(default=None, repr=False)
    seed: str | None = field(default=None, repr=False)
    certificate: str | None = None
    key: str | None = None
    ca: str | None = None
    tls_first: bool = False
    inbox_prefix: str = "_INBOX"
    fixed_servers: bool = False
    api_prefix: str = "$JS.API"
    origin: str = ""
    renewal: str = "get new credentials, such as with `nsc generate creds`"
    remedy: str | None = None
    authority: str | None = None

    @property
    def wants_tls(self) -> bool:
        """Whether a connection without TLS is refused."""
        return bool(self.tls_first or self.ca or self.certificate)


class Timing(NamedTuple):
    """Times in seconds. After a connection of at least ``settled``, the next pause is short again."""

    handshake: float = 5.0
    ping: float = 30.0
    first_pause: float = 0.05
    longest_pause: float = 10.0
    settled: float = 5.0
    first_refused_pause: float = 5.0
    longest_refused_pause: float = 300.0


def read_small_file(path: str, what: str, origin: str) -> str:
    """Return the text of a file that the options name. Raises ContextError."""
    hint = f"check the path of the {what} in {origin}" if origin else f"check the path of the {what}"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ContextError(f"the {what} {path} is not a regular file", hint)
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise ContextError(f"can't read the {what} {path}: {error.strerror}", hint) from error
    if len(data) > _LARGEST_FILE:
        raise ContextError(f"the {what} {path} is larger than {_LARGEST_FILE:,} bytes", hint)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ContextError(f"the {what} {path} is not UTF-8 text", hint) from None
