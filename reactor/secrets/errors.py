"""The error of a source of secrets."""

from __future__ import annotations

from reactor.errors import ReactorError


class SecretError(ReactorError):
    """A secret can't be read. If ``may_pass``, the source may answer later without a change on this host."""

    code = "R0130"

    def __init__(
        self, message: str, hint: str | None = None, *, code: str | None = None, may_pass: bool = False
    ) -> None:
        super().__init__(message, hint, code=code)
        self.may_pass = may_pass
