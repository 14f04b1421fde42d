"""A login to Vault by AppRole: its token is renewed while that is possible, so that few secret ids are used up."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from reactor.resource.redaction import register_secret
from reactor.secrets.errors import SecretError

OK = 200
Ask = Callable[[str, str, str | None, bytes | None], Awaitable[tuple[int, Any]]]
"""Asks the server: method, path, token, content. Returns the status and the parsed answer."""


class VaultLogin:
    """The login of one role at one server, which all secrets that are read with it share. The token is in memory only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._token: str | None = None
        self._renew_at: float | None = None

    async def token(self, ask: Ask, mount: str, credentials: Callable[[], tuple[str, str]]) -> str:
        """Return the token, after a login or a renewal if one is due.

        ``credentials`` returns the role id and the secret id. Raises SecretError and HttpError.
        """
        if self._token is None:
            return await self._log_in(ask, mount, credentials)
        if self._renew_at is not None and self._clock() >= self._renew_at:
            status, answer = await ask("POST", "auth/token/renew-self", self._token, b"{}")
            self._note(_auth(status, answer))
        return self._token

    async def has_ended(self, ask: Ask) -> bool:
        """Whether the server does not know the token any more: then the next `token` logs in.

        If it does, what it refuses is forbidden by the policy, and another login would be refused as well.
        """
        status, _ = await ask("GET", "auth/token/lookup-self", self._token, None)
        if status == OK:
            return False
        self._token = None
        return True

    async def _log_in(self, ask: Ask, mount: str, credentials: Callable[[], tuple[str, str]]) -> str:
        role, secret_id = credentials()
        content = json.dumps({"role_id": role, "secret_id": secret_id}).encode()
        status, answer = await ask("POST", f"auth/{mount}/login", None, content)
        auth = _auth(status, answer)
        token = auth.get("client_token")
        if not isinstance(token, str):
            message = f"Vault refuses the login by AppRole: it answers {status}{words_of(answer)}"
            hint = "check role_id and the secret id, which may have been used up, or have expired"
            raise SecretError(message, hint, code="R0134", may_pass=True)
        register_secret(token)
        self._token = token
        self._note(auth)
        return token

    def _note(self, auth: dict[str, Any]) -> None:
        """Plan the renewal for the middle of the lease; none for a token that can't be renewed."""
        lease = auth.get("lease_duration")
        can_be_renewed = auth.get("renewable") is True and isinstance(lease, int) and lease > 0
        self._renew_at = self._clock() + lease / 2 if can_be_renewed and isinstance(lease, int) else None


def _auth(status: int, answer: Any) -> dict[str, Any]:
    """Return the part of an answer that describes a token; it is empty if there is none."""
    auth = answer.get("auth") if status == OK and isinstance(answer, dict) else None
    return auth if isinstance(auth, dict) else {}


_MOST_WORDS = 200


def words_of(answer: Any) -> str:
    """Return what the server says in its answer, after a colon; empty if it says nothing."""
    found = (answer.get("errors") or answer.get("warnings")) if isinstance(answer, dict) else None
    texts = (
        [" ".join(each.split()) for each in found if isinstance(each, str)] if isinstance(found, list) else []
    )
    return f": {'; '.join(texts)[:_MOST_WORDS]}" if texts else ""
