"""What a request asks of a server, the limits of the response, and the errors when there is none."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass

from reactor.errors import ReactorError

_LONGEST = 200
"""The most characters of a reason, which may quote the server."""


class HttpError(ReactorError):
    """A request has no response, or one that is refused."""

    code = "R0404"


class ConnectionLostError(HttpError):
    """The connection could not be made, or broke: a retry may succeed."""


class TooLargeError(HttpError):
    """The body is larger than the request allows."""


def reason(error: BaseException) -> str:
    """Return the innermost message of ``error``: the outer ones only say that all attempts failed."""
    words = next((str(each) for each in reversed(_causes(error)) if str(each)), type(error).__name__)
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def innermost(error: BaseException) -> BaseException:
    """Return the first cause of ``error``; ``error`` itself if it has none."""
    return _causes(error)[-1]


def _causes(error: BaseException) -> list[BaseException]:
    """Return ``error`` and its causes, the first cause last."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause)
    return causes


Fields = tuple[tuple[str, str], ...]
"""Header fields, each a name and a value."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of one response. Times are in seconds, ``size`` in bytes of the body.

    ``silence`` is the most time between two bytes, ``seconds`` for everything, redirects included; every ``pace`` bytes
    of the body add one second. If ``redirects`` is 0, a redirect is returned as the response.
    """

    size: int
    seconds: float
    silence: float
    pace: int | None = None
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """``fields`` and ``credentials`` go to the server of the URL only, ``conditions`` wherever redirects lead.

    ``proxy`` is a URL, or "" for none; None uses the environment. ``trust`` makes the TLS context, in a thread; the
    default trusts the certificates of this host. ``may_leave_tls`` allows redirects from https to http.
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
