"""What is asked of a server, and what its answer may take."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass

Fields = tuple[tuple[str, str], ...]
"""Header fields, each a name and a value."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What one answer may take. Times in seconds, ``size`` in bytes of the body.

    ``silence`` is between two bytes, ``seconds`` for all of it, redirects included; each ``pace`` bytes of the body buy
    one more second. Without ``redirects`` an answer that redirects is the answer.
    """

    size: int
    seconds: float
    silence: float
    pace: int | None = None
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """``fields`` and ``credentials`` go to the server of the URL only, ``conditions`` wherever redirects lead.

    ``proxy`` is a URL, or "" for none; None takes what the environment names. ``trust`` makes the TLS context, in a
    thread; by default it trusts whom this host trusts. ``may_leave_tls`` lets a redirect lead from https to http.
    """

    url: str
    method: str = "GET"
    fields: Fields = ()
    conditions: Fields = ()
    content: bytes | None = None
    credentials: tuple[str, str] | None = None
    proxy: str | None = None
    trust: Callable[[], ssl.SSLContext] | None = None
    may_leave_tls: bool = False
