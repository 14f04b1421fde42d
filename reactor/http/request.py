"""What a request asks of a server, the limits of the response, and the errors when there is none."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass

from reactor.errors import ReactorError

_LONGEST = 200
"""Characters of a reason: some quote what the server has sent."""


class HttpError(ReactorError):
    """A request that has no answer, or one that is refused. The text is for people."""

    code = "R0404"


class ConnectionLostError(HttpError):
    """The connection could not be made, or broke: another attempt may have better luck."""


class TooLargeError(HttpError):
    """The body is larger than the request allows."""


def reason(error: BaseException) -> str:
    """The innermost words of ``error``: those around them tell only that all attempts have failed."""
    words = next((str(each) for each in reversed(_causes(error)) if str(each)), type(error).__name__)
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def innermost(error: BaseException) -> BaseException:
    """What ``error`` came from in the first place; ``error`` itself where it came from nothing else."""
    return _causes(error)[-1]


def _causes(error: BaseException) -> list[BaseException]:
    """``error`` and what it came from, the first cause last."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause)
    return causes


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
