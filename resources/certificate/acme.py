"""Orders certificates from an ACME server (RFC 8555). Imports cryptography."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import trio
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from reactor import ResourceError, tls_context
from reactor.hostfs import Attributes, ErrorContext, Inline, open_content, read, state_folder, write_file
from reactor.resources.certificate.acme_wire import Answer, Wire, described, encoded
from reactor.resources.certificate.challenges import Challenge, Responder
from reactor.resources.certificate.issuing import (
    certificates_from_pem,
    key_from_pem,
    key_to_pem,
)
from reactor.resources.certificate.profile import is_address

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 15.0
"""Seconds between two looks at an order, which the server can't announce."""
_PENDING: Final = ("pending", "processing")


@dataclass(frozen=True, slots=True)
class Acme:
    """An ACME server, and how to prove to it that this host has its names. ``timeout`` is in seconds."""

    directory: str
    contacts: tuple[str, ...]
    trusted: str | None
    """A file of certificates to trust the server by, instead of those of the host."""
    responder: Responder
    timeout: float

    async def order(
        self, names: Sequence[str], request: x509.CertificateSigningRequest
    ) -> tuple[x509.Certificate, ...]:
        """Order a certificate; return it with those between it and the root. Raises ResourceError."""
        with trio.move_on_after(self.timeout):
            return await self._ordered(names, request)
        raise ResourceError(f"the ACME server gave no certificate within {self.timeout:g} s", "raise timeout")

    async def refuse_unreachable(self) -> None:
        """Raise ResourceError when the server can't be asked, or challenges can't be answered. Changes nothing."""
        await self._wire(ec.generate_private_key(ec.SECP256R1())).url_of("newOrder")
        await self.responder.refuse_unusable()

    async def _ordered(
        self, names: Sequence[str], request: x509.CertificateSigningRequest
    ) -> tuple[x509.Certificate, ...]:
        wire = self._wire(await self._account_key())
        account = {"termsOfServiceAgreed": True, "contact": [f"mailto:{each}" for each in self.contacts]}
        wire.account = (await wire.post(await wire.url_of("newAccount"), account)).location
        wanted = [{"type": "ip" if is_address(name) else "dns", "value": name} for name in names]
        ordered = await wire.post(await wire.url_of("newOrder"), {"identifiers": wanted})
        order = ordered.document
        for url in _urls(order, "authorizations"):
            await self._authorize(wire, url)
        der = request.public_bytes(serialization.Encoding.DER)
        await wire.post(_url(order, "finalize"), {"csr": encoded(der)})
        finished = await _settled(wire, ordered.location, (*_PENDING, "ready"))
        if finished.get("status") != "valid":
            raise ResourceError(f"the ACME server refused the order{_why(finished)}", "check names")
        answer = await wire.post(_url(finished, "certificate"), None)
        return certificates_from_pem(answer.body, "the answer of the ACME server")

    async def _authorize(self, wire: Wire, url: str) -> None:
        """Answer the challenge for one name, and wait until the server has looked."""
        authorization = (await wire.post(url, None)).document
        if authorization.get("status") == "valid":
            return
        name = str(authorization.get("identifier", {}).get("value"))
        offered = [each for each in authorization.get("challenges", ()) if isinstance(each, dict)]
        chosen = next((each for each in offered if each.get("type") == self.responder.type), None)
        if chosen is None:
            types = ", ".join(sorted(str(each.get("type")) for each in offered))
            raise ResourceError(
                f"for {name}, the ACME server offers {types}, not {self.responder.type}",
                "a name with * needs dns_command",
            )
        challenge = _challenge_of(wire, chosen, name)
        async with self.responder.answering(challenge):
            await wire.post(_url(chosen, "url"), {})
            settled = await _settled(wire, url, _PENDING)
        if settled.get("status") != "valid":
            raise ResourceError(
                f"the ACME server could not verify {name}{_why(settled)}", self.responder.hint
            )

    def _wire(self, key: ec.EllipticCurvePrivateKey) -> Wire:
        return Wire(self.directory, key, None if self.trusted is None else partial(tls_context, self.trusted))

    async def _account_key(self) -> ec.EllipticCurvePrivateKey:
        """The key of our account there, which is kept in the state directory."""
        folder = state_folder("acme")
        if folder is None:
            return ec.generate_private_key(ec.SECP256R1())
        path = f"{folder}/{hashlib.sha256(self.directory.encode()).hexdigest()[:32]}.pem"
        with ErrorContext(f"read {path}"):
            try:
                fd = open_content(path)
            except FileNotFoundError:
                return await _new_account_key(path)
            try:
                pem = bytes(read(fd, os.fstat(fd).st_size))
            finally:
                os.close(fd)
        key = key_from_pem(pem, path)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ResourceError(f"{path} holds no key of an ACME account", "remove it")
        return key


async def _new_account_key(path: str) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    await write_file(path, Inline(key_to_pem(key)), Attributes(os.geteuid(), os.getegid(), 0o600))
    return key


async def _settled(wire: Wire, url: str, pending: Sequence[str]) -> dict[str, Any]:
    """The document at ``url`` once its status is none of ``pending``."""
    wait = _FIRST_WAIT
    while True:
        answer = await wire.post(url, None)
        if answer.document.get("status") not in pending:
            return answer.document
        await trio.sleep(_wait_of(answer, wait))
        wait = min(wait * 2, _LONGEST_WAIT)


def _wait_of(answer: Answer, usual: float) -> float:
    return min(float(answer.retry_after), _LONGEST_WAIT) if answer.retry_after.isdigit() else usual


def _challenge_of(wire: Wire, chosen: dict[str, Any], name: str) -> Challenge:
    token = str(chosen.get("token"))
    try:
        is_token = encoded(base64.urlsafe_b64decode(f"{token}==")) == token
    except ValueError:
        is_token = False
    if not is_token:  # it becomes the name of a file
        raise ResourceError("the ACME server sent an invalid token", "check acme")
    return Challenge(name, token, wire.key_authorization(token))


def _why(document: dict[str, Any]) -> str:
    """Why the server refused, as it says in an order, an authorization or its challenges."""
    problems = [document.get("error"), *(each.get("error") for each in document.get("challenges", ()))]
    words = "; ".join(filter(None, (described(each) for each in problems if isinstance(each, dict))))
    return f": {words}" if words else ""


def _url(document: dict[str, Any], key: str) -> str:
    return _urls({key: [document.get(key)]}, key)[0]


def _urls(document: dict[str, Any], key: str) -> list[str]:
    urls = document.get(key)
    if not isinstance(urls, list) or not all(isinstance(each, str) for each in urls):
        raise ResourceError(f"the ACME server sent no URL as {key}", "check acme")
    return urls
