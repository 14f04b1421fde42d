"""Other users of the host and what listens for the owner of a run, on real sockets."""

import socket
import subprocess
import sys

import pytest
import trio
from control_worlds import controlled
from strangers import NOBODY, as_root, connection_of_another_user

from reactor.control.peer import peer_of
from reactor.journal.state_directory import SOCKET_FILE
from reactor.testing.scripted import scripted

_ASK = f"""
import os, socket, sys
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
connected = socket.socket(socket.AF_UNIX)
connected.settimeout(30)
try:
    connected.connect(sys.argv[1])
    connected.sendall(b"POST /v1/pause HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 27\\r\\n\\r\\n" + b'{{"for": 60, "reason": "me"}}')
    print(connected.recv(100))
except OSError as error:
    print(type(error).__name__)
"""


def asked(path):
    command = [sys.executable, "-c", _ASK, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


@as_root
@pytest.mark.parametrize(
    ("mode", "answers"),
    [(0o600, {"PermissionError"}), (0o666, {"b''", "ConnectionResetError", "BrokenPipeError"})],
)
async def test_another_user_gets_no_answer_also_from_a_socket_that_was_opened_to_all(
    open_tmp_path, mode, answers
):
    async with controlled(open_tmp_path, scripted("a")) as world:
        (open_tmp_path / SOCKET_FILE).chmod(mode)
        assert await trio.to_thread.run_sync(asked, open_tmp_path / SOCKET_FILE) in answers
        assert (await world.status())["counts"]["paused"] == 0
    assert not (open_tmp_path / "pauses.json").exists()


@as_root
@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_user_of_a_connection_within_this_host_is_known_until_it_is_closed(family, host):
    with (
        socket.create_server((host, 0), family=family) as server,
        connection_of_another_user(server) as (connection, closed),
    ):
        assert peer_of(connection) == ("user", NOBODY)
        closed()
        assert peer_of(connection)[0] == "host", "a connection that was closed must not look like root's"
