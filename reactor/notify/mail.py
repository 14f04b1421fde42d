"""Sends one message by SMTP."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Mapping
from contextlib import closing, suppress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid

import trio

from reactor.manifest.notify_channels import Mail
from reactor.notify.errors import SendError
from reactor.notify.message import Message
from reactor.notify.smtp_errors import explained, refusals
from reactor.notify.smtp_session import OpenConnections, PlainSession, TlsSession
from reactor.resource.threads import in_thread
from reactor.trust.authorities import tls_context
from reactor.trust.rule import DistrustedError

_PORTS = {"starttls": 587, "implicit": 465, "none": 25}


async def send_mail(mail: Mail, message: Message, seconds: float) -> str | None:
    """Send ``message``. Returns which recipients do not get it, if the server has refused some of them.

    Raises SendError. When it is cancelled, its thread ends at once: the connection is closed.
    """
    connections = OpenConnections()
    try:
        refused = await in_thread(
            _deliver, mail, letter(mail, message), seconds, connections, abandon_on_cancel=True
        )
    except DistrustedError as error:
        raise SendError(f"ca_file can't be trusted: {error}", error.hint) from error
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise explained(error) from error
    except trio.Cancelled:
        connections.end()
        raise
    return f"the mail server refuses {refusals(refused)}" if refused else None


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


def _deliver(
    mail: Mail, content: EmailMessage, timeout: float, connections: OpenConnections
) -> Mapping[str, tuple[int, bytes]]:
    """Deliver the mail. Returns the answers about the recipients that the server has refused."""
    context = tls_context(mail.ca_file)
    with closing(connections), closing(_connected(mail, timeout, context, connections)) as server:
        if mail.tls == "starttls":
            server.starttls(context=context)
        if mail.user is not None and mail.password is not None:
            _log_in(server, mail.user, mail.password)
        refused = server.send_message(content, mail.sender, list(mail.to))
        with suppress(OSError, smtplib.SMTPException):
            server.quit()
    return refused


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
