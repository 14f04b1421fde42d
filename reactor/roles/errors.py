"""The errors of roles."""

from __future__ import annotations

from reactor.errors import ReactorError


class RoleError(ReactorError):
    """A role can't be used: ``code`` says why."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.code = code
