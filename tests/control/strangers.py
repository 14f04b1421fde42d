"""Another user of this host, who talks to whatever listens: real processes, real sockets."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from line_pipe import started

from reactor.control.listen_address import Address

NOBODY = 65534
GUARD = 60

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

_BECOME = f"""
import encodings.idna, http.client, json, os, socket, sys, threading, time
if os.geteuid() == 0:
    os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
HOST, PORT = sys.argv[1], int(sys.argv[2])
ORIGIN = f"http://{{HOST}}:{{PORT}}"
def connected():
    return socket.create_connection((HOST, PORT))
def ready():
    print("ready", flush=True)
def stay():
    ready()
    sys.stdin.read()
"""

ASK_EVERYTHING = """
answers = []
for method, path in json.loads(sys.argv[3]):
    body = json.dumps({"refs": [], "for": "8760h", "reason": "because I can"}) if method == "POST" else None
    headers = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    client = http.client.HTTPConnection(HOST, PORT, timeout=30)
    client.request(method, path, body, headers)
    answer = client.getresponse()
    text = answer.read1(65536).decode(errors="replace")
    answers.append([answer.status, text, {name.lower(): value for name, value in answer.getheaders()}])
print(json.dumps(answers))
"""

_FLOODS = {
    "connections that send nothing": """
crowd = [connected() for _ in range(1000)]
stay()
""",
    "connections that send nothing and come back": """
def again():
    crowd = [None] * 300
    while True:
        for place in range(300):
            crowd[place] = connected()
        ready_once()
def ready_once(said=[]):
    if not said:
        said.append(ready())
again()
""",
    "heads that never end": """
crowd = []
for _ in range(200):
    each = connected()
    each.setblocking(False)
    each.send(b"GET / HTTP/1.1\\r\\nHost: localhost\\r\\nX-A: ")
    crowd.append(each)
ready()
while True:
    for place, each in enumerate(crowd):
        try:
            each.send(b"a")
        except BlockingIOError:
            pass
        except OSError:
            crowd[place] = connected()
            crowd[place].setblocking(False)
    time.sleep(0.02)
""",
    "huge heads": """
def send():
    with connected() as each:
        try:
            each.sendall(b"GET / HTTP/1.1\\r\\n" + b"X: " + b"a" * 1_000_000)
            each.recv(100)
        except OSError:
            pass
send()
ready()
while True:
    send()
""",
    "requests without a pause": """
def ask():
    while True:
        try:
            with connected() as each:
                each.settimeout(30)
                while True:
                    each.sendall(b"GET /events HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n" * 20)
                    if not each.recv(65536):
                        break
        except OSError:
            pass
for _ in range(16):
    threading.Thread(target=ask, daemon=True).start()
stay()
""",
    "answers that are not read": """
def stall():
    each = socket.socket()
    each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    each.connect((HOST, PORT))
    each.sendall(b"GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n" * 50)
    return each
crowd = [stall() for _ in range(200)]
stay()
""",
    "streams of HTTP/2": """
PREFACE = b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes.fromhex("000000040000000000")
def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
HEAD = bytes.fromhex("828684410f") + b"localhost:12345"
def reset():
    with connected() as each:
        try:
            data = PREFACE
            for stream in range(1, 20001, 2):
                data += frame(1, 5, stream, HEAD) + frame(3, 0, stream, bytes(4))
            each.sendall(data)
            each.recv(100)
        except OSError:
            pass
reset()
ready()
while True:
    reset()
""",
}
FLOODS = list(_FLOODS)


def _started(script, address, *args):
    command = [sys.executable, "-c", _BECOME + script, address.host, str(address.port), *args]
    return started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask_everything(address, requests):
    """What another user is answered: status, text and headers of each (method, path)."""
    with _started(ASK_EVERYTHING, address, json.dumps(requests)) as process:
        out, _ = process.communicate(timeout=GUARD)
    return json.loads(out)


@contextmanager
def flooded(address, flood):
    """Another user does that to what listens at ``address``."""
    with _started(_FLOODS[flood], address) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
            assert process.poll() is None
        finally:
            process.kill()


@contextmanager
def connection_of_another_user(server):
    """A connection to ``server``, and what has its client close it."""
    host, port, *_ = server.getsockname()
    with _started("each = connected()\nstay()\neach.close()\nready()", Address(host, port)) as process:
        connection, _ = server.accept()
        process.stdout.readline()

        def closed():
            process.stdin.close()
            process.stdout.readline()
            connection.recv(1)  # its end has come

        with connection:
            yield connection, closed
        process.kill()
