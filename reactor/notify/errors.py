"""The error of a message that could not be sent."""

from __future__ import annotations

from reactor.errors import ReactorError


class SendError(ReactorError):
    """A message could not be sent."""

    code = "R0137"
