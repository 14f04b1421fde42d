"""The errors of enrolment."""

from __future__ import annotations

from reactor.errors import ReactorError


class RefusedError(ReactorError):
    """A host is not admitted, or a host can't be expelled."""

    code = "R1022"
