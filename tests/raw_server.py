"""A server on loopback that sends what it is told to, be it HTTP or not."""

import socket
import threading


class RawServer:
    """Answers every connection by ``behave(connection, over)``, in a thread of its own, while a block lasts.

    ``behave`` may be the bytes to send instead. ``asked`` holds the requests; ``over`` is set at the end of the block.
    """

    def __init__(self, behave):
        self.behave = behave
        self.asked = []
        self.over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _accept(self):
        while not self.over.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                self.asked.append(connection.recv(65536))
                if isinstance(self.behave, bytes):
                    connection.sendall(self.behave)
                else:
                    self.behave(connection, self.over)
                connection.shutdown(socket.SHUT_WR)
                while not self.over.is_set() and connection.recv(65536):
                    pass
            except OSError:
                pass  # clients go away; that is what is tested


def answer(body=b"", status="200 OK", **fields):
    """A whole answer. An underscore in the name of a field is a hyphen."""
    fields = {"Content_Length": len(body), **fields}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def dripping(first, piece, seconds):
    """Sends ``first``, and then ``piece`` every so many seconds for ever."""

    def behave(connection, over):
        connection.sendall(first)
        while not over.wait(seconds):
            connection.sendall(piece)

    return behave


def flooding(first, piece):
    """Sends ``first``, and then ``piece`` for ever, as fast as it is taken."""

    def behave(connection, over):
        connection.sendall(first)
        while not over.is_set():
            connection.sendall(piece)

    return behave
