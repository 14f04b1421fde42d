"""A request, the limits of the response, and the errors when there is none."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass

from reactor.errors import ReactorError

_LONGEST = 200
"""The most characters of an error reason, which may quote the server."""


class HttpError(ReactorError):
    """A request got no response, or its response was refused."""

    code = "R0404"


class ConnectionLostError(HttpError):
    """The connection could not be made, or broke. A retry may succeed."""


class TooLargeError(HttpError):
    """The body is larger than the request allows."""


def reason(error: BaseException) -> str:
    """Return the innermost message of ``error``. The outer messages only say that all attempts failed."""
    words = next((str(each) for each in reversed(_causes(error)) if str(each)), type(error).__name__)
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def innermost(error: BaseException) -> BaseException:
    """Return the root cause of ``error``; ``error`` itself if it has no cause."""
    return _causes(error)[-1]


def _causes(error: BaseException) -> list[BaseException]:
    """Return ``error`` and its causes, the root cause last."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause)
    return causes


Fields = tuple[tuple[str, str], ...]
"""Header fields, each a name and a value."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of one response. Times are in seconds; ``size`` is in bytes of the body.

    ``silence`` limits the time between two bytes, ``seconds`` the total time, redirects included. Every ``pace`` bytes
    of the body add one second to the total. If ``redirects`` is 0, a redirect is returned as the response.
    """

    size: int
    seconds: float
    silence: float
    pace: int | None = None
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """``fields`` and ``credentials`` are sent only to the server of the URL, ``conditions`` also after redirects.

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
