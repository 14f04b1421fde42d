"""A TCP stream that takes one system call and one turn of its task for a message, where `trio.SocketStream` takes two."""

from __future__ import annotations

import socket

import trio

CHUNK = 64 << 10
"""Bytes that are received at most at once."""


class TcpStream(trio.abc.Stream):
    """An open connection. One task at a time may receive, and one may send."""

    def __init__(self, sock: socket.socket) -> None:
        """``sock``: without blocking."""
        self._socket = sock

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Wait for bytes; return none at the end. Raises BrokenResourceError, and ClosedResourceError after `aclose`."""
        while True:
            await trio.lowlevel.wait_readable(self._socket)
            try:
                return self._socket.recv(max_bytes or CHUNK)
            except BlockingIOError:
                continue
            except OSError as error:
                raise trio.BrokenResourceError from error

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send all bytes; waits only while the other side reads slowly. Raises as `receive_some`."""
        with memoryview(data) as left:
            sent = 0
            while sent < len(left):
                try:
                    sent += self._socket.send(left[sent:])
                except BlockingIOError:
                    await self.wait_send_all_might_not_block()
                except OSError as error:
                    self._require_open()
                    raise trio.BrokenResourceError from error

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until some bytes can be sent. Raises ClosedResourceError after `aclose`."""
        await trio.lowlevel.wait_writable(self._socket)

    def _require_open(self) -> None:
        if self._socket.fileno() < 0:
            raise trio.ClosedResourceError

    async def aclose(self) -> None:
        """Close it. Tasks that wait for it get ClosedResourceError."""
        if self._socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
        await trio.lowlevel.checkpoint()


async def open_tcp(host: str, port: int) -> TcpStream:
    """Connect. Messages are sent at once, however small. Raises OSError."""
    opened = await trio.open_tcp_stream(host, port)
    sock = socket.socket(fileno=opened.socket.detach())
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return TcpStream(sock)
