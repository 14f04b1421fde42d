"""TLS of a connection: makes the context from files, and explains failed handshakes."""

from __future__ import annotations

import ssl

from reactor.fleet.link.errors import ContextError, TlsError
from reactor.fleet.link.options import Options
from reactor.fleet.link.servers import Server

_OTHER_NAME = (62, 64)
_HINTS = {
    62: "check `url`: it must have the name that the certificate has",
    64: "check `url`: it must have the address that the certificate has",
    10: "the server needs a new certificate; check also the clock of this host",
    9: "check the clock of this host",
}
"""OpenSSL's number of a certificate error -> hint."""


def client_context(options: Options) -> ssl.SSLContext:
    """Return the context for one connection. Raises ContextError for files that can't be used."""
    try:
        context = ssl.create_default_context(cafile=options.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
    except OSError as error:
        raise _unusable("CA", options.ca, error, options) from error
    if options.certificate:
        try:
            context.load_cert_chain(options.certificate, options.key, password=_no_password)
        except OSError as error:
            pair = " with the key ".join(filter(None, (options.certificate, options.key)))
            raise _unusable("certificate", pair, error, options) from error
    return context


def failure_of(error: BaseException) -> ssl.SSLError | None:
    """Return the TLS error behind an exception, None if there is none."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__
    return cause


def explained(error: BaseException, server: Server, options: Options) -> TlsError:
    """Return the LinkError for a failed handshake."""
    cause = failure_of(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        usual = f"name the CA of the server as `ca` in {options.origin or 'the context'}"
        hint = _HINTS.get(cause.verify_code, options.authority or usual)
        if server.discovered and cause.verify_code in _OTHER_NAME:
            hint = "let the server announce the name that its certificate has: `client_advertise` in its configuration"
        return TlsError(
            f"the certificate of the NATS server {server} is refused: {cause.verify_message.rstrip('.')}",
            hint,
        )
    reason = getattr(cause, "reason", None) or "the server ended the connection"
    hint = "the server may ask for a client certificate: `cert` and `key`"
    if options.tls_first:
        hint = "`tls_first` needs `handshake_first` in the configuration of the server"
    return TlsError(
        f"TLS with the NATS server {server} failed: {str(reason).lower().replace('_', ' ')}", hint
    )


def no_tls(server: Server, options: Options) -> TlsError:
    """Return the error for a server without TLS, although the options require it."""
    where = f" in {options.origin}" if options.origin else ""
    hint = f"let the server use TLS, or take `ca`, `cert` and tls:// out{where}"
    return TlsError(f"the NATS server {server} does not use TLS", hint)


def _no_password() -> str:
    """Return no password: otherwise OpenSSL would ask for one on the terminal."""
    return ""


def _unusable(what: str, path: str | None, error: OSError, options: Options) -> ContextError:
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    text = str(reason or "it is not PEM").lower().replace("_", " ")
    where = f" in {options.origin}" if options.origin else ""
    return ContextError(f"the {what} {path} can't be used: {text}", f"check the files of TLS{where}")
