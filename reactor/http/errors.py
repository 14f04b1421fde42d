"""Why there is no answer."""

from __future__ import annotations

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
