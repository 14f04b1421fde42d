"""The errors of a push as a whole. How a single host ended is an `Outcome`."""

from __future__ import annotations

from reactor.errors import ReactorError


class InventoryError(ReactorError):
    """An inventory or a host pattern can't be used; nothing was sent to any host."""

    code = "R0803"


class RequestFormError(ReactorError):
    """What arrived on stdin is no request of `reactor push`."""

    code = "R0807"
