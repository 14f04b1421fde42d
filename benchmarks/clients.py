"""What people who look cost a repair: the drift benchmark's write with 50 clients, and with none.

Half of them read the event stream of the control socket, half that of the live page; one of each never reads. Bar:
the median with them is within 10 % of the median without. The clients have the core of the prober.
"""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from _harness import (
    PROBER_CORE,
    REACTOR,
    STATE,
    Row,
    World,
    arguments,
    compile_c,
    interleaved,
    percentile,
    pinned,
    probe,
    show,
    started,
    workspace,
    write_manifest,
)

CLIENTS = 50
STREAMS = {"socket": "/v1/events", "page": "/stream"}
Clients = Callable[[int], contextlib.AbstractContextManager[None]]


def connected(stream: str, port: int) -> socket.socket:
    """A connection that has asked for one of the streams."""
    if stream == "socket":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(f"{STATE.name}/control.sock")
    else:
        connection = socket.create_connection(("127.0.0.1", port))
    token = Path(STATE.name, "page-token").read_text(encoding="ascii").strip()
    head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    connection.sendall(f"GET {STREAMS[stream]} HTTP/1.1\r\n{head}\r\n".encode())
    return connection


def read_on(port: int) -> None:
    """Be the clients until SIGTERM. Says when all are connected, and at last the least that one of them has read."""
    connections = [connected(stream, port) for stream in STREAMS for _ in range(CLIENTS // len(STREAMS))]
    stalled = {connections[0], connections[-1]}
    read = dict.fromkeys((each for each in connections if each not in stalled), 0)
    selector = selectors.DefaultSelector()
    for connection in read:
        selector.register(connection, selectors.EVENT_READ)
    with contextlib.suppress(KeyboardInterrupt):
        print("connected", flush=True)
        while True:
            for key, _ in selector.select():
                assert isinstance(key.fileobj, socket.socket)
                read[key.fileobj] += len(key.fileobj.recv(1 << 20))
    print(min(read.values()), flush=True)


@contextlib.contextmanager
def fifty(port: int) -> Iterator[None]:
    """The clients are there. Raises AssertionError when one of them was not served."""
    command = pinned(PROBER_CORE, [sys.executable, str(Path(__file__)), "read", STATE.name, str(port)])
    clients = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert clients.stdout is not None
    assert clients.stdout.readline() == "connected\n"
    yield
    clients.send_signal(signal.SIGINT)
    assert int(clients.communicate()[0]) > len("HTTP/1.1 200") * 100, "a client was told nothing"


@contextlib.contextmanager
def nobody(_: int) -> Iterator[None]:
    """No clients."""
    yield


def one_turn(clients: Clients, manifest: Path, prober: str, world: World, samples: int) -> float:
    """The median of the repairs of one run, in microseconds."""
    world.make_directories()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [REACTOR, "run", str(manifest), "--format", "json", "--ui", f"127.0.0.1:{port}"]
    with started(command, lambda line: '"event":"converged"' in line), clients(port):
        repairs = probe(prober, world, "write", samples)
    world.check_content()
    assert min(repairs) > 0, "a change was not repaired"
    return percentile(repairs, 50)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    files, dirs, samples, turns = (1000, 100, 500, 2) if options.quick else (2000, 200, 2000, 5)
    with workspace(options.dir) as space, workspace(Path("/tmp")) as tools:
        world = World(space / "w", dirs, files)
        turn = partial(
            one_turn,
            manifest=write_manifest(world, tools / "manifest.yaml"),
            prober=compile_c("drift", tools),
            world=world,
            samples=samples,
        )
        found = interleaved(turns, {"50 clients": partial(turn, fifty), "none": partial(turn, nobody)})
    row = Row("write, p50", median(found["50 clients"]), "µs", 1.1, median(found["none"]))
    show(f"{CLIENTS} clients, two of them stalled, and {files} files on {options.dir}", [row], "none")


if __name__ == "__main__":
    if sys.argv[1:2] == ["read"]:
        STATE.name = sys.argv[2]
        read_on(int(sys.argv[3]))
    else:
        main()
