"""Explains why a mail server does not take a message: what it answers, and what to do about it."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Mapping

from reactor.notify.errors import SendError
from reactor.resource.escaping import escaped
from reactor.resource.redaction import masked_start

_WORDS = 200
"""The most characters of an answer that are shown."""


def explained(error: OSError | smtplib.SMTPException | ValueError) -> SendError:
    """The SendError for what a session raised. The words of the server are in its hint: they may differ each time."""
    reason, hint = f"the mail server can't be reached: {_reason(error)}", "check server and port"
    match error:
        case smtplib.SMTPResponseException():
            reason = f"the mail server answers {error.smtp_code}"
            hint = f"it says: {_words(error.smtp_error)}"
        case smtplib.SMTPRecipientsRefused():
            reason = "the mail server refuses every recipient"
            hint = f"check 'to'; it refuses {refusals(error.recipients)}"
        case smtplib.SMTPServerDisconnected():
            reason, hint = f"the mail server does not go on: {_reason(error)}", "see its log"
        case smtplib.SMTPNotSupportedError() if "SMTPUTF8" in str(error):
            reason = "the mail server takes no internationalized address"
            hint = "write addresses of ASCII"
        case smtplib.SMTPNotSupportedError():
            reason = "the mail server offers no STARTTLS, or no way to log in"
            hint = "use tls: implicit, or tls: none on a network that you trust"
        case ssl.SSLCertVerificationError():
            reason = f"the certificate of the mail server is refused: {error.verify_message}"
            hint = "renew it, name the server as it does, or name its authority in ca_file"
        case ssl.SSLError():
            reason = f"the mail server speaks no TLS that we can use: {_reason(error)}"
            hint = "check port and tls: implicit is for port 465, starttls for 587"
    return SendError(reason, hint)


def refusals(recipients: Mapping[str, tuple[int, bytes]]) -> str:
    """The recipients that the server refuses, each with its answer."""
    return ", ".join(f"{name}: {code} {_words(text)}" for name, (code, text) in recipients.items())


def _words(answer: bytes | str) -> str:
    """The words of an answer on one line, without secrets and control characters."""
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    return escaped(masked_start(" ".join(text.split()), _WORDS))


def _reason(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return reason or type(error).__name__
