"""The errors of enrolment."""

from __future__ import annotations

from reactor.errors import ReactorError


class RefusedError(ReactorError):
    """A host is not admitted, or a host can't be expelled."""

    code = "R1022"


class SecretRefusedError(ReactorError):
    """A secret can't be set or read: there is no age key, or the value is too large."""

    code = "R1023"
