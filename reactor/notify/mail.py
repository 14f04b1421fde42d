"""Sends one message by SMTP."""

from __future__ import annotations

import smtplib
import socket
import ssl
from contextlib import closing, suppress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid

import trio

from reactor.manifest.notify_channels import Mail
from reactor.notify.errors import SendError
from reactor.notify.message import Message
from reactor.notify.smtp_session import OpenConnections, PlainSession, TlsSession
from reactor.resource.threads import in_thread
from reactor.trust.authorities import tls_context
from reactor.trust.rule import DistrustedError

_PORTS = {"starttls": 587, "implicit": 465, "none": 25}


async def send_mail(mail: Mail, message: Message, seconds: float) -> None:
    """Send ``message``. Raises SendError. When it is cancelled, its thread ends at once: the connection is closed."""
    connections = OpenConnections()
    try:
        await in_thread(_deliver, mail, letter(mail, message), seconds, connections, abandon_on_cancel=True)
    except smtplib.SMTPResponseException as error:
        raise SendError(f"the mail server answers {error.smtp_code}") from error
    except smtplib.SMTPNotSupportedError as error:
        hint = "use tls: implicit, or tls: none on a network that you trust"
        raise SendError("the mail server offers no STARTTLS, or no way to log in", hint) from error
    except smtplib.SMTPRecipientsRefused as error:
        raise SendError("the mail server refuses every recipient", "check 'to'") from error
    except DistrustedError as error:
        raise SendError(f"ca_file can't be trusted: {error}", error.hint) from error
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise SendError(f"the mail server can't be reached: {_reason(error)}") from error
    except trio.Cancelled:
        connections.end()
        raise


def letter(mail: Mail, message: Message) -> EmailMessage:
    """Return the mail. No value of a host or a manifest can add a header field: the subject is one line."""
    found = EmailMessage(policy=SMTP)
    found["Subject"] = message.subject
    found["From"] = mail.sender
    found["To"] = ", ".join(mail.to)
    found["Date"] = formatdate(localtime=True)
    found["Message-ID"] = make_msgid(domain=socket.gethostname())
    found["Auto-Submitted"] = "auto-generated"
    found.set_content(message.text)
    return found


def _deliver(mail: Mail, content: EmailMessage, timeout: float, connections: OpenConnections) -> None:
    context = tls_context(mail.ca_file)
    with closing(connections), closing(_connected(mail, timeout, context, connections)) as server:
        if mail.tls == "starttls":
            server.starttls(context=context)
        if mail.user is not None and mail.password is not None:
            _log_in(server, mail.user, mail.password)
        server.send_message(content, mail.sender, list(mail.to))
        with suppress(OSError, smtplib.SMTPException):
            server.quit()


def _log_in(server: smtplib.SMTP, user: str, password: str) -> None:
    """Log in by PLAIN if the server offers it: a refusal then ends the attempt. `login` would try other ways, too."""
    server.ehlo_or_helo_if_needed()
    if "PLAIN" in server.esmtp_features.get("auth", "").upper().split():
        server.user, server.password = user, password
        server.auth("PLAIN", server.auth_plain)
    else:
        server.login(user, password)


def _connected(
    mail: Mail, timeout: float, context: ssl.SSLContext, connections: OpenConnections
) -> smtplib.SMTP:
    port = mail.port or _PORTS[mail.tls]
    if mail.tls == "implicit":
        return TlsSession(connections, mail.server, port, timeout, context)
    return PlainSession(connections, mail.server, port, timeout=timeout)


def _reason(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return reason or type(error).__name__
