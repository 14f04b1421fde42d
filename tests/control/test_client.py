"""The client of the control socket, and what listens there in the place of a run."""

import socket
import threading

import pytest

from reactor.control import client
from reactor.control.client import Client
from reactor.control.protocol import RefusedError, StatusQuery
from reactor.journal.state_directory import SOCKET_FILE


def flood(listener):
    """Answer one request with bytes until the other side hangs up."""
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b"[" * 65536)
        except OSError:
            return


def test_an_answer_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(client, "MAX_BYTES", 1 << 20)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / SOCKET_FILE))
        listener.listen()
        flooding = threading.Thread(target=flood, args=(listener,))
        flooding.start()
        with pytest.raises(RefusedError, match="the answer is larger than 1 MiB"):
            Client(str(tmp_path)).status(StatusQuery())
        flooding.join(30)
    assert not flooding.is_alive()
