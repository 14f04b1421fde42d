"""The errors of enrolment."""

from __future__ import annotations

from reactor.errors import ReactorError


class RefusedError(ReactorError):
    """A host is not admitted, a host can't be expelled, or credentials can't be revoked."""

    code = "R1022"


class SecretRefusedError(ReactorError):
    """A secret can't be set or read: there is no age key, or the value is too large."""

    code = "R1023"
