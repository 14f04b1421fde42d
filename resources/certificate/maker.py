"""Makes the desired files of a certificate: a key with a certificate, or with a request for one.

Imports cryptography.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from cryptography import x509

from reactor import ResourceError, in_thread
from reactor.hostfs import ErrorContext, open_source
from reactor.resources.certificate.acme import Acme
from reactor.resources.certificate.inspection import (
    DesiredPair,
    Inspection,
    fit_each_other,
    fits_profile,
    judge_pair,
    judge_request,
)
from reactor.resources.certificate.issuing import (
    Authority,
    PrivateKey,
    certificates_from_pem,
    certificates_to_pem,
    issue,
    key_from_pem,
    key_to_pem,
    make_request,
    new_key,
    request_to_pem,
)
from reactor.resources.certificate.pair import (
    CERTIFICATE,
    CHAIN,
    COMBINED,
    FULL_CHAIN,
    KEY,
    REQUEST,
    Pair,
)
from reactor.resources.certificate.profile import Profile
from reactor.resources.shared_lines import read_bounded
from reactor.resources.trusted_sources import refuse_foreign_file


class AuthorityFiles(NamedTuple):
    """The files of an authority: its certificate, with those above it, and its key."""

    certificate: str
    key: str


class Maker(NamedTuple):
    """How a pair is made. At most one of ``authority``, ``acme`` and ``only_request`` is set; else it is self-signed."""

    profile: Profile
    renew_before: float | None
    authority: AuthorityFiles | None = None
    acme: Acme | None = None
    only_request: bool = False
    keep_key: bool = False

    def judge(self, pair: Pair, now: float) -> Inspection:
        """Whether a new pair is needed at ``now``. Raises ResourceError when the authority has no certificate."""
        key, certificate = pair.files.get(KEY), pair.files.get(CERTIFICATE)
        if self.only_request:
            request = pair.files.get(REQUEST)
            if key is None or request is None:
                return Inspection("there is none")
            return judge_request(key, request, self.profile)
        authority = None if self.authority is None else _certificates_of(self.authority)[0]
        if key is None or certificate is None or CHAIN not in pair.files:
            return Inspection("there is none")
        if pair.files.get(FULL_CHAIN) != certificate + pair.files[CHAIN]:
            return Inspection(f"{FULL_CHAIN} does not fit")
        if pair.files.get(COMBINED) != key + certificate + pair.files[CHAIN]:
            return Inspection(f"{COMBINED} does not fit")
        is_self_signed = self.authority is None and self.acme is None
        wanted = DesiredPair(
            self.profile, self.renew_before, is_self_signed, authority, self.acme is not None
        )
        return judge_pair(key, certificate, wanted, now)

    async def refuse_unmakeable(self) -> None:
        """Raise ResourceError when `make` could not succeed, as far as that can be seen. Changes nothing."""
        if self.authority is not None:
            _authority_of(self.authority)
        if self.acme is not None:
            await self.acme.refuse_unreachable()

    async def make(self, pair: Pair) -> Mapping[str, bytes]:
        """Return the files of a new pair. Raises ResourceError."""
        key = self._kept_key(pair)
        if key is None:
            key = await in_thread(new_key, self.profile)
        if self.only_request:
            return {KEY: key_to_pem(key), REQUEST: request_to_pem(make_request(self.profile, key))}
        if self.acme is not None:
            certificates = await self.acme.order(self.profile.names, make_request(self.profile, key))
        else:
            authority = None if self.authority is None else _authority_of(self.authority)
            certificates = issue(self.profile, key, authority)
        if not fit_each_other(key, certificates[0]):
            raise ResourceError("the issuer sent a certificate for another key", "check acme")
        first, above = certificates_to_pem(certificates[:1]), certificates_to_pem(certificates[1:])
        pem = key_to_pem(key)
        return {
            KEY: pem,
            CERTIFICATE: first,
            CHAIN: above,
            FULL_CHAIN: first + above,
            COMBINED: pem + first + above,
        }

    def _kept_key(self, pair: Pair) -> PrivateKey | None:
        if not self.keep_key or KEY not in pair.files:
            return None
        try:
            key = key_from_pem(pair.files[KEY], KEY)
        except ResourceError:
            return None
        return key if fits_profile(key, self.profile) else None


def _certificates_of(files: AuthorityFiles) -> tuple[x509.Certificate, ...]:
    return certificates_from_pem(_content_of(files.certificate), files.certificate)


def _authority_of(files: AuthorityFiles) -> Authority:
    """The authority that signs. Raises ResourceError when it can't."""
    authority = Authority(_certificates_of(files), key_from_pem(_content_of(files.key), files.key))
    if not fit_each_other(authority.key, authority.certificate):
        words = f"{files.key} is not the key of {files.certificate}"
        raise ResourceError(words, "correct ca_certificate or ca_key; the signing certificate comes first")
    if authority.certificate.not_valid_after_utc <= datetime.now(UTC):
        raise ResourceError(f"the certificate in {files.certificate} has expired", "renew it first")
    try:
        constraints = authority.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        is_authority = constraints.ca
    except x509.ExtensionNotFound:
        is_authority = False
    if not is_authority:
        words = (
            f"the certificate in {files.certificate} may not sign others: it is not a certificate authority"
        )
        raise ResourceError(
            words, "name that of an authority; a certificate resource makes one with authority: true"
        )
    return authority


def _content_of(path: str) -> bytes:
    refuse_foreign_file(path, "which authority signs")
    with ErrorContext(f"read {path}"):
        try:
            fd = open_source(path)
        except FileNotFoundError:
            hint = "require the resource that makes it, or correct the path"
            raise ResourceError(f"there is no {path}", hint, missing=path) from None
        try:
            return read_bounded(fd, path, os.fstat(fd))
        finally:
            os.close(fd)
