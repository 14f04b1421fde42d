"""The errors of bundles."""

from __future__ import annotations

from reactor.errors import ReactorError


class PackingError(ReactorError):
    """A directory can't be packed into a bundle."""

    code = "R0801"


class BundleError(ReactorError):
    """A bundle is refused: it is damaged, too large, or not the one that was announced. Nothing has changed."""

    code = "R0802"


class NotNowError(BundleError):
    """A bundle can't be taken now; it may be later."""


class NoRoomError(NotNowError):
    """The disk has no room for a bundle; it may have later."""
