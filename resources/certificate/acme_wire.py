"""Signed requests to an ACME server (RFC 8555). Imports cryptography."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from reactor import DistrustedError, HttpError, HttpLimits, HttpRequest, ResourceError, http_response

_LIMITS = HttpLimits(size=1 << 20, seconds=60.0, silence=30.0, redirects=0)
_BAD_NONCE = "urn:ietf:params:acme:error:badNonce"
_ATTEMPTS = 5
_ERRORS = 400
_COORDINATE = 32
"""Bytes of a coordinate of P-256."""


class Answer(NamedTuple):
    """An answer of the server: its header fields ``location`` and ``retry-after``, and its body."""

    body: bytes
    location: str
    retry_after: str

    @property
    def document(self) -> dict[str, Any]:
        """The body as an object of JSON. Raises ResourceError."""
        try:
            document = json.loads(self.body)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise ResourceError("the ACME server did not answer with an object of JSON", "check acme")
        return document


class Wire:
    """A connection to one ACME server with one account, whose key is of P-256."""

    def __init__(
        self, directory: str, key: ec.EllipticCurvePrivateKey, trust: Callable[[], ssl.SSLContext] | None
    ) -> None:
        self._directory_url = directory
        self._key = key
        self._trust = trust
        self._directory: dict[str, Any] | None = None
        self._nonce = ""
        self.account = ""
        """The URL of the account; empty before it is known."""

    async def url_of(self, resource: str) -> str:
        """The URL of ``newAccount``, ``newOrder`` and so on. Raises ResourceError."""
        if self._directory is None:
            answer = await self._send(HttpRequest(self._directory_url, trust=self._trust))
            self._directory = answer.document
        url = self._directory.get(resource)
        if not isinstance(url, str):
            words = f"{self._directory_url} is not the directory of an ACME server: it has no {resource}"
            raise ResourceError(words, "check acme")
        return url

    async def post(self, url: str, payload: Mapping[str, Any] | None) -> Answer:
        """Send a signed request; ``None`` asks for the document at the URL. Raises ResourceError."""
        for attempt in range(_ATTEMPTS):
            if not self._nonce:
                await self._send(HttpRequest(await self.url_of("newNonce"), "HEAD", trust=self._trust))
            body = self._signed(url, payload)
            request = HttpRequest(
                url,
                "POST",
                fields=(("Content-Type", "application/jose+json"),),
                content=body,
                trust=self._trust,
            )
            try:
                return await self._send(request)
            except _ProblemError as error:
                if error.kind != _BAD_NONCE or attempt == _ATTEMPTS - 1:
                    raise ResourceError(f"the ACME server refused: {error}", "check acme and names") from None
        raise AssertionError

    def key_authorization(self, token: str) -> str:
        """The proof that the holder of the account answers a challenge."""
        canonical = json.dumps(self._jwk(), sort_keys=True, separators=(",", ":")).encode()
        return f"{token}.{encoded(hashlib.sha256(canonical).digest())}"

    def _signed(self, url: str, payload: Mapping[str, Any] | None) -> bytes:
        signer = {"kid": self.account} if self.account else {"jwk": self._jwk()}
        protected = encoded(json.dumps({"alg": "ES256", "nonce": self._nonce, "url": url, **signer}).encode())
        self._nonce = ""
        content = "" if payload is None else encoded(json.dumps(payload).encode())
        der = self._key.sign(f"{protected}.{content}".encode(), ec.ECDSA(hashes.SHA256()))
        signature = b"".join(part.to_bytes(_COORDINATE, "big") for part in decode_dss_signature(der))
        signed = {"protected": protected, "payload": content, "signature": encoded(signature)}
        return json.dumps(signed).encode()

    def _jwk(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        x, y = (encoded(number.to_bytes(_COORDINATE, "big")) for number in (numbers.x, numbers.y))
        return {"crv": "P-256", "kty": "EC", "x": x, "y": y}

    async def _send(self, request: HttpRequest) -> Answer:
        try:
            async with http_response(request, _LIMITS) as response:
                self._nonce = response.field("replay-nonce") or self._nonce
                body = b"" if request.method == "HEAD" else await response.read()
                answer = Answer(body, response.field("location"), response.field("retry-after"))
                if response.status >= _ERRORS:
                    raise _problem_in(answer, response.status)
                return answer
        except DistrustedError as error:
            raise ResourceError(
                f"another user can change which ACME server is trusted: {error}", error.hint
            ) from error
        except (HttpError, OSError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ResourceError(
                f"the ACME server at {request.url} can't be asked: {reason}", "check acme"
            ) from error


class _ProblemError(Exception):
    """A problem document of the server. ``kind`` is its type."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def _problem_in(answer: Answer, status: int) -> _ProblemError:
    try:
        document = answer.document
    except ResourceError:
        document = {}
    kind = str(document.get("type", ""))
    return _ProblemError(kind, described(document) or f"status {status}")


def described(problem: Mapping[str, Any]) -> str:
    """The sentence of a problem document, with the sentences of its parts."""
    parts = [problem, *(each for each in problem.get("subproblems", ()) if isinstance(each, dict))]
    return "; ".join(str(each["detail"]) for each in parts if each.get("detail"))


def encoded(data: bytes) -> str:
    """``data`` as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
