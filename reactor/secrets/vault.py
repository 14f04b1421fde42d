"""Reads a secret from the key-value engine of Vault or OpenBao over HTTP, with a token or after a login by AppRole."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

import trio

from reactor.http.client import http_response
from reactor.http.request import HttpError, HttpLimits, HttpRequest
from reactor.resource.redaction import register_secret
from reactor.secrets.declarations import Vault
from reactor.secrets.errors import SecretError
from reactor.secrets.files import read_key
from reactor.secrets.vault_login import OK, VaultLogin, words_of
from reactor.trust.authorities import tls_context
from reactor.trust.rule import DistrustedError

_MAX_BYTES = 2**20
_BAD_REQUEST, _FORBIDDEN, _NOT_FOUND = 400, 403, 404
_HINTS = {
    3: "a redirect would get the token: set the address of the server that it names, which may be the active one",
    5: "it may be sealed, or starting",
}
"""Hints by the first digit of the status."""
_TRUST = "set ca_file, or VAULT_CACERT, to the certificate of the authority that signed that of the server"


_VERSIONS = {1: "", 2: "data/"}
"""What the paths of the API have after the mount, by the version of the engine."""


class VaultClient:
    """Asks one server for one secret. ``logins`` are those of all clients, by what they log in with."""

    def __init__(
        self, vault: Vault, environ: Mapping[str, str], timeout: float, logins: dict[Any, VaultLogin]
    ) -> None:
        self._vault = vault
        self._environ = environ
        self._timeout = timeout
        address = vault.address or environ.get("VAULT_ADDR", "")
        if not address:
            hint = "set 'address', or VAULT_ADDR, such as https://vault.example.org:8200"
            raise SecretError("the address of Vault is not known", hint)
        self.address = address.rstrip("/")
        self._logins = logins

    def read(self) -> Any:
        """Return the field, or a map of all fields. Blocks for up to the timeout. Raises SecretError."""
        try:
            return trio.run(self._read)
        except HttpError as error:
            message = f"Vault at {self.address} does not answer: {error.message}"
            hint = _TRUST if "CERTIFICATE_VERIFY_FAILED" in error.message else error.hint
            raise SecretError(message, hint, code="R0134", may_pass=True) from error
        except DistrustedError as error:
            raise SecretError(f"ca_file can't be trusted: {error}", error.hint) from error
        except OSError as error:
            message = f"Vault at {self.address} can't be asked: {error.strerror or error}"
            raise SecretError(message, "check ca_file", code="R0134", may_pass=True) from error

    async def _read(self) -> Any:
        with trio.move_on_after(self._timeout):
            status, answer = await self._asked_as(await self._token())
            login = self._login
            if status == _FORBIDDEN and login is not None and await login.has_ended(self._asked):
                status, answer = await self._asked_as(await self._token())
            return self._field(status, answer)
        raise HttpError(f"no answer within {self._timeout:g} s")

    async def _asked_as(self, token: str) -> tuple[int, Any]:
        """Return the status and the answer. That of version 2 of the engine has the fields one level deeper."""
        mount, path, version = await self._mount(token)
        status, answer = await self._asked("GET", f"{mount}/{_VERSIONS[version]}{path}", token)
        if version == 1 or not isinstance(answer, dict) or not isinstance(answer.get("data"), dict):
            return status, answer
        inner = answer["data"].get("data")
        return status, {**answer, "data": inner, "metadata": answer["data"].get("metadata")}

    async def _mount(self, token: str) -> tuple[str, str, int]:
        """Return the mount, the path within it and the version of the engine, as ``vault kv`` finds them."""
        path = self._vault.path.strip("/")
        mount, _, rest = path.partition("/")
        if self._vault.version is not None:
            return mount, rest, self._vault.version
        status, answer = await self._asked("GET", f"sys/internal/ui/mounts/{path}", token)
        data = answer.get("data") if status == OK and isinstance(answer, dict) else None
        if not isinstance(data, dict) or not isinstance(data.get("path"), str):
            return mount, rest, 2
        mount = data["path"].strip("/")
        options = data.get("options")
        version = options.get("version") if isinstance(options, dict) else None
        return mount, path.removeprefix(mount).strip("/"), 2 if version == "2" else 1

    def _field(self, status: int, answer: Any) -> Any:
        """Return the declared field of the answer, or raise SecretError."""
        where = f"{self._vault.path} in Vault at {self.address}"
        if status != OK:
            raise self._refusal(status, answer, where)
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, dict):
            hint = "set 'version' to that of the engine: 1 or 2"
            raise SecretError(f"{where} has no fields", hint, code="R0134", may_pass=True)
        if self._vault.field is None:
            return data
        if self._vault.field not in data:
            hint = f"it has {', '.join(sorted(map(str, data))) or 'no fields'}"
            message = f"{where} has no field {self._vault.field}"
            raise SecretError(message, hint, code="R0134", may_pass=True)
        return data[self._vault.field]

    def _refusal(self, status: int, answer: Any, where: str) -> SecretError:
        """Return the error for an answer without a secret."""
        reason, hint = words_of(answer), _HINTS.get(status // 100)
        message = f"Vault at {self.address} answers {status}{reason}"
        if status == _FORBIDDEN:
            hint = "the token has expired, or its policy does not allow to read this path"
            message = f"Vault refuses to show {where}{reason}"
        elif status == _NOT_FOUND:
            message, hint = _missing(where, answer)
        elif status == _BAD_REQUEST and answer is None and self.address.startswith("http:"):
            hint = "it may speak TLS only: set an address that begins with https://"
        return SecretError(message, hint, code="R0134", may_pass=True)

    @property
    def _login(self) -> VaultLogin | None:
        """The login by AppRole, if the secret is read with one."""
        vault, environ = self._vault, self._environ
        if vault.role_id is None and (not environ.get("VAULT_ROLE_ID") or vault.token_file is not None):
            return None
        with_what = (self.address, self._namespace, vault.login_mount, vault.role_id, vault.secret_id_file)
        return self._logins.setdefault(with_what, VaultLogin())

    @property
    def _namespace(self) -> str | None:
        return self._vault.namespace or self._environ.get("VAULT_NAMESPACE")

    async def _token(self) -> str:
        """Return the token to ask with. Raises SecretError."""
        vault, environ = self._vault, self._environ
        if (login := self._login) is not None:
            return await login.token(self._asked, vault.login_mount, self._credentials)
        if vault.token_file is None and environ.get("VAULT_TOKEN"):
            token = environ["VAULT_TOKEN"]
        else:
            token = read_key(vault.token_file or _usual_token_file(), "the token file").strip()
        register_secret(token)
        return token

    def _credentials(self) -> tuple[str, str]:
        """Return the role id and the secret id for a login. Raises SecretError."""
        vault, environ = self._vault, self._environ
        secret_id = environ.get("VAULT_SECRET_ID", "")
        if vault.secret_id_file is not None:
            secret_id = read_key(vault.secret_id_file, "the file of the secret id").strip()
        register_secret(secret_id)
        return vault.role_id or environ.get("VAULT_ROLE_ID", ""), secret_id

    async def _asked(
        self, method: str, path: str, token: str | None, content: bytes | None = None
    ) -> tuple[int, Any]:
        """Return the status and the parsed answer. Raises HttpError. Redirects are not followed: they would get the token."""
        vault = self._vault
        fields = [("X-Vault-Request", "true"), ("Content-Type", "application/json")]
        if token is not None:
            fields.append(("X-Vault-Token", token))
        if namespace := self._namespace:
            fields.append(("X-Vault-Namespace", namespace))
        ca_file = vault.ca_file or self._environ.get("VAULT_CACERT")
        trust = partial(tls_context, ca_file) if ca_file else None
        url = f"{self.address}/v1/{quote(path)}"
        request = HttpRequest(url, method, tuple(fields), content=content, trust=trust)
        limits = HttpLimits(_MAX_BYTES, self._timeout, self._timeout, redirects=0)
        async with http_response(request, limits) as answer:
            status, body = answer.status, await answer.read()
        try:
            return status, json.loads(body) if body else None
        except (ValueError, RecursionError):
            return status, None


def _missing(where: str, answer: Any) -> tuple[str, str]:
    """Return the message and the hint for a secret that is not there."""
    metadata = answer.get("metadata") if isinstance(answer, dict) else None
    if isinstance(metadata, dict) and (metadata.get("deletion_time") or metadata.get("destroyed")):
        return f"the last version of {where} is deleted", "write it again, or: vault kv undelete"
    message = f"there is no {where}{words_of(answer)}"
    return (
        message,
        "check the path: it begins with the mount, as in 'vault kv get', and has no 'data/' after it",
    )


def _usual_token_file() -> str:
    """Return the file of ``vault login``. Raises SecretError if there is none."""
    path = os.path.expanduser("~/.vault-token")
    if not os.path.exists(path):
        raise SecretError("there is no token for Vault", "set token_file, role_id, or VAULT_TOKEN")
    return path
