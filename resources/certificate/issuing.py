"""Makes private keys, requests and certificates. Imports cryptography."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from reactor import ResourceError
from reactor.resources.certificate.profile import Profile, Usage, is_address

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

_EXPONENT = 65537
_CURVES: dict[int, type[ec.EllipticCurve]] = {256: ec.SECP256R1, 384: ec.SECP384R1, 521: ec.SECP521R1}
_BACKDATED = 300.0
"""Seconds by which a certificate holds already before now: the clocks of its readers are not exact."""
USAGES: dict[Usage, x509.ObjectIdentifier] = {
    "server_auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client_auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code_signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email_protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "time_stamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp_signing": ExtendedKeyUsageOID.OCSP_SIGNING,
}


class Authority(NamedTuple):
    """A certificate authority: its certificate with those above it, and its key."""

    certificates: tuple[x509.Certificate, ...]
    key: PrivateKey

    @property
    def certificate(self) -> x509.Certificate:
        """The certificate that signs."""
        return self.certificates[0]


def new_key(profile: Profile) -> PrivateKey:
    """A new private key. One of RSA may take seconds."""
    if profile.key_type == "rsa":
        return rsa.generate_private_key(_EXPONENT, profile.key_size)
    if profile.key_type == "ec":
        return ec.generate_private_key(_CURVES[profile.key_size]())
    return ed25519.Ed25519PrivateKey.generate()


def key_to_pem(key: PrivateKey) -> bytes:
    """The key as PKCS #8 in PEM, not encrypted."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def key_from_pem(pem: bytes, path: str) -> PrivateKey:
    """The key in ``pem``. Raises ResourceError, which shows nothing of it."""
    try:
        key = serialization.load_pem_private_key(pem, None)
    except TypeError:
        raise ResourceError(
            f"the key in {path} is encrypted", "keep a key without a password there"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise ResourceError(f"{path} holds no private key in PEM", "see openssl pkey -in") from None
    if not isinstance(key, PrivateKey):
        raise ResourceError(f"the key in {path} is neither rsa, ec nor ed25519", "use one of these")
    return key


def certificates_to_pem(certificates: tuple[x509.Certificate, ...]) -> bytes:
    """The certificates in PEM, one after the other."""
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def certificates_from_pem(pem: bytes, path: str) -> tuple[x509.Certificate, ...]:
    """The certificates in ``pem``, at least one. Raises ResourceError."""
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError:
        raise ResourceError(f"{path} holds no certificate in PEM", "see openssl x509 -in") from None


def make_request(profile: Profile, key: PrivateKey) -> x509.CertificateSigningRequest:
    """A request for a certificate of this profile."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(_subject(profile))
    for extension, is_critical in _extensions(profile):
        builder = builder.add_extension(extension, is_critical)
    return builder.sign(key, _hash_for(key))


def request_to_pem(request: x509.CertificateSigningRequest) -> bytes:
    """The request in PEM."""
    return request.public_bytes(serialization.Encoding.PEM)


def issue(profile: Profile, key: PrivateKey, authority: Authority | None) -> tuple[x509.Certificate, ...]:
    """A certificate with those between it and the root; signed by ``authority``, or by its own key."""
    signer = key if authority is None else authority.key
    subject = _subject(profile)
    issuer = subject if authority is None else authority.certificate.subject
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(seconds=min(_BACKDATED, profile.valid_for / 10)))
        .not_valid_after(_end(now, profile, authority))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    for extension, is_critical in _extensions(profile):
        builder = builder.add_extension(extension, is_critical)
    certificate = builder.sign(signer, _hash_for(signer))
    above = () if authority is None else authority.certificates
    return (certificate, *(each for each in above if each.issuer != each.subject))


def _end(now: datetime, profile: Profile, authority: Authority | None) -> datetime:
    """When it expires: not after its authority."""
    end = now + timedelta(seconds=profile.valid_for)
    return end if authority is None else min(end, authority.certificate.not_valid_after_utc)


def _subject(profile: Profile) -> x509.Name:
    if profile.common_name is None:
        return x509.Name([])
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, profile.common_name)])


def _extensions(profile: Profile) -> list[tuple[x509.ExtensionType, bool]]:
    """The extensions of a request and of its certificate, each with whether it is critical."""
    found: list[tuple[x509.ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=profile.is_authority, path_length=None), True),
        (_key_usage(profile), True),
    ]
    if profile.names:
        names = [x509.IPAddress(ip_address(n)) if is_address(n) else x509.DNSName(n) for n in profile.names]
        found.append((x509.SubjectAlternativeName(names), profile.common_name is None))
    if profile.usages:
        found.append((x509.ExtendedKeyUsage([USAGES[usage] for usage in profile.usages]), False))
    return found


def _key_usage(profile: Profile) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=profile.key_type == "rsa" and not profile.is_authority,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=profile.is_authority,
        crl_sign=profile.is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _hash_for(key: PrivateKey) -> hashes.SHA256 | None:
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
