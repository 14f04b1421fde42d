"""Compares a key and its certificate with the desired ones. Imports cryptography."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from reactor import ResourceError
from reactor.resources.certificate.issuing import (
    USAGES,
    PrivateKey,
    certificates_from_pem,
    key_from_pem,
)
from reactor.resources.certificate.profile import Profile

_RENEWED_WITHIN = 3
"""By default, a certificate is renewed when a third of its time is left."""


class Inspection(NamedTuple):
    """Why a new pair is needed, None if it is not; when one will be, and from when this one is valid, in seconds since the epoch."""

    fault: str | None
    renew_at: float | None = None
    valid_from: float = 0.0


class DesiredPair(NamedTuple):
    """The desired pair. ``renew_before`` is in seconds; ``authority`` is the certificate that signs, if known."""

    profile: Profile
    renew_before: float | None
    is_self_signed: bool
    authority: x509.Certificate | None = None
    only_names: bool = False
    """Whether the issuer decides on all but the names, as a server of ACME does."""


def judge_pair(key_pem: bytes, certificate_pem: bytes, wanted: DesiredPair, now: float) -> Inspection:
    """Whether the pair is as wanted at ``now``, in seconds since the epoch."""
    try:
        key = key_from_pem(key_pem, "key.pem")
        certificate = certificates_from_pem(certificate_pem, "cert.pem")[0]
    except ResourceError as error:
        return Inspection(str(error))
    fault = _key_fault(key, wanted.profile) or _fault_of(key, certificate, wanted)
    if fault is not None:
        return Inspection(fault)
    start, end = (
        each.timestamp() for each in (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    )
    third = (end - start) / _RENEWED_WITHIN
    renew_at = end - (third if wanted.renew_before is None else min(wanted.renew_before, end - start - third))
    if now >= renew_at:
        return Inspection(f"it {'expires' if now < end else 'expired'} at {in_utc(end)}", renew_at)
    return Inspection(None, renew_at, start)


def in_utc(moment: float) -> str:
    """``moment``, in seconds since the epoch, as text."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def judge_request(key_pem: bytes, request_pem: bytes, profile: Profile) -> Inspection:
    """Whether the request is for this key and profile."""
    try:
        key = key_from_pem(key_pem, "key.pem")
        request = x509.load_pem_x509_csr(request_pem)
    except ResourceError as error:
        return Inspection(str(error))
    except ValueError:
        return Inspection("request.pem holds no request")
    if not request.is_signature_valid or not _is_same(key, request.public_key()):
        return Inspection("key and request do not fit each other")
    return Inspection(_key_fault(key, profile) or _content_fault(request, profile))


def fits_profile(key: PrivateKey, profile: Profile) -> bool:
    """Whether the key is of the type and size of the profile."""
    return _key_fault(key, profile) is None


def fit_each_other(key: PrivateKey, certificate: x509.Certificate) -> bool:
    """Whether the certificate is for this key."""
    return _is_same(key, certificate.public_key())


def _key_fault(key: PrivateKey, profile: Profile) -> str | None:
    is_rsa, is_ec = isinstance(key, rsa.RSAPrivateKey), isinstance(key, ec.EllipticCurvePrivateKey)
    found = "rsa" if is_rsa else "ec" if is_ec else "ed25519"
    size = key.key_size if isinstance(key, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey)) else 256
    if (found, size) == (profile.key_type, profile.key_size):
        return None
    return f"its key is {found} of {size} bits"


def _fault_of(key: PrivateKey, certificate: x509.Certificate, wanted: DesiredPair) -> str | None:
    if not fit_each_other(key, certificate):
        return "key and certificate do not fit each other"
    profile = wanted.profile
    fault = _names_fault(certificate, profile) if wanted.only_names else _content_fault(certificate, profile)
    return fault or _issuer_fault(certificate, wanted)


def _names_fault(document: x509.Certificate | x509.CertificateSigningRequest, profile: Profile) -> str | None:
    names = _names_in(document.extensions)
    return None if names == set(profile.names) else f"its names are {', '.join(sorted(names)) or 'none'}"


def _content_fault(
    document: x509.Certificate | x509.CertificateSigningRequest, profile: Profile
) -> str | None:
    """The difference between the certificate and the profile."""
    if (fault := _names_fault(document, profile)) is not None:
        return fault
    extensions = document.extensions
    if _is_authority(extensions) != profile.is_authority:
        return (
            "it is a certificate authority"
            if not profile.is_authority
            else "it is not a certificate authority"
        )
    if profile.common_name is not None:
        found = document.subject.rfc4514_string()
        common = document.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        if [each.value for each in common] != [profile.common_name]:
            return f"its subject is {found or 'empty'}"
    is_as_wanted = _usages_in(extensions) == {USAGES[usage] for usage in profile.usages}
    return None if is_as_wanted else "its usages differ"


def _issuer_fault(certificate: x509.Certificate, wanted: DesiredPair) -> str | None:
    if wanted.is_self_signed:
        return None if _has_signed(certificate, certificate) else "it is not self-signed"
    if wanted.authority is None:
        return "it is self-signed" if _has_signed(certificate, certificate) else None
    return None if _has_signed(wanted.authority, certificate) else "another authority has signed it"


def _has_signed(issuer: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _is_same(key: PrivateKey, public: object) -> bool:
    return _encoded(key.public_key()) == _encoded(public)


def _encoded(public: object) -> bytes:
    encoded: bytes = public.public_bytes(  # type: ignore[attr-defined]  # of any type of key
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def _names_in(extensions: x509.Extensions) -> set[str]:
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(each.value) for each in names}


def _is_authority(extensions: x509.Extensions) -> bool:
    try:
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _usages_in(extensions: x509.Extensions) -> set[x509.ObjectIdentifier]:
    try:
        return set(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return set()
