"""The errors of the link. Each says in one line what failed and where; the hint says how to fix it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reactor.errors import ReactorError


class LinkError(ReactorError):
    """The base class of the errors of the link."""


class UnreachableError(LinkError):
    """No connection to the server."""

    code = "R0901"


class IdentityError(LinkError):
    """The server refuses the user, password, token or key."""

    code = "R0902"


class ExpiredError(IdentityError):
    """The JWT of the user has expired."""

    code = "R0903"


class TlsError(LinkError):
    """The TLS handshake failed: the certificate has another name or authority, or one side does not use TLS."""

    code = "R0904"


class ContextError(LinkError):
    """A context of the ``nats`` CLI, or a file it names, can't be used."""

    code = "R0905"


class DeniedError(LinkError):
    """The user may not publish or subscribe to a subject."""

    code = "R0906"


class DisconnectedError(LinkError):
    """There is no connection, or it broke before the answer came."""

    code = "R0907"


class NoAnswerError(LinkError):
    """The answer did not come in time."""

    code = "R0908"


class NoRespondersError(NoAnswerError):
    """The server reports that nothing listens on the subject of a request."""


class MissingError(LinkError):
    """The stream, bucket, key or object does not exist."""

    code = "R0909"


def hint_to_make(sort: str, bucket: str) -> str:
    """How to make a bucket that is missing. Those of a fleet have settings on which its safety depends."""
    if bucket.startswith("reactor_"):
        return "an operator makes it: reactor fleet init"
    return f"make it with `nats {sort} add {bucket}`, or correct the name"


class ApiError(LinkError):
    """JetStream refuses a request.

    ``status`` is a status code like those of HTTP; ``number`` is the error number of the server.
    """

    code = "R0910"

    def __init__(self, message: str, hint: str | None = None, *, status: int = 0, number: int = 0) -> None:
        super().__init__(message, hint)
        self.status = status
        self.number = number


class TooLargeError(ApiError):
    """A message is larger than the server takes, or the stream. The former is not sent: the server would end the connection."""


class WrongRevisionError(ApiError):
    """The key, subject or stream has another last revision than the writer expects."""


class DamagedError(LinkError):
    """The content of an object does not match its metadata."""

    code = "R0911"


class ForeignServerError(LinkError):
    """The other side does not speak the protocol of NATS."""

    code = "R0912"


class NoKeysError(ForeignServerError):
    """The server has no accounts and asks for no keys, so credentials can't be used."""


@contextmanager
def describing_missing(describe: Callable[[], MissingError]) -> Iterator[None]:
    """Within the block, replace a MissingError of the server by the one that ``describe`` returns."""
    try:
        yield
    except MissingError as error:
        raise describe() from error
