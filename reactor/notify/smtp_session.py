"""Sessions of SMTP with a server that may be hostile: its answers are bounded, and they can be ended from outside at any time."""

from __future__ import annotations

import smtplib
import socket
import ssl
from contextlib import suppress
from typing import Any

_ANSWER_BYTES = 64 * 1024


class OpenConnections:
    """The connections of a session that a thread reads from. Another thread may end them."""

    def __init__(self) -> None:
        self._copies: list[socket.socket] = []
        self._is_over = False

    def add(self, connection: socket.socket) -> None:
        """Add a connection. A copy is kept, since TLS takes the descriptor of the connection away."""
        self._copies.append(connection.dup())
        if self._is_over:
            self.end()

    def end(self) -> None:
        """Let every read and write end at once, also of connections that are made later."""
        self._is_over = True
        for copy in list(self._copies):
            with suppress(OSError):
                copy.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the copies."""
        for copy in self._copies:
            copy.close()


class _BoundedReader:
    """Reads lines, but not more bytes than a session needs: smtplib keeps all lines of an answer."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = _ANSWER_BYTES

    def readline(self, size: int) -> bytes:
        line: bytes = self._file.readline(size)
        self._left -= len(line)
        if self._left < 0:
            raise OSError(f"it answers more than {_ANSWER_BYTES} bytes")
        return line

    def close(self) -> None:
        self._file.close()


class PlainSession(smtplib.SMTP):
    """A session without TLS at its beginning."""

    def __init__(self, connections: OpenConnections, *arguments: Any, **options: Any) -> None:
        self._connections = connections
        super().__init__(*arguments, **options)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        connection: socket.socket = super()._get_socket(host, port, timeout)  # type: ignore[misc]
        self._connections.add(connection)
        return connection

    def getreply(self) -> tuple[int, bytes]:
        """The answer of the server. Raises SMTPException, also if it is too long."""
        if self.file is None and self.sock is not None:
            self.file = _BoundedReader(self.sock.makefile("rb"))
        return super().getreply()


class TlsSession(smtplib.SMTP_SSL, PlainSession):
    """A session with TLS from its beginning."""

    def __init__(
        self, connections: OpenConnections, host: str, port: int, timeout: float, context: ssl.SSLContext
    ) -> None:
        self._connections = connections
        smtplib.SMTP_SSL.__init__(self, host, port, timeout=timeout, context=context)
