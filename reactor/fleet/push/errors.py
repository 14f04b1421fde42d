"""The errors of a push as a whole. The result of a single host is an `Outcome`."""

from __future__ import annotations

from reactor.errors import ReactorError


class InventoryError(ReactorError):
    """An inventory or a host pattern can't be used; nothing was sent to any host."""

    code = "R0803"


class RequestFormError(ReactorError):
    """The input on stdin is no request of `reactor push`."""

    code = "R0807"
