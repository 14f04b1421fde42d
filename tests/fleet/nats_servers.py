"""Real NATS servers on loopback: one, or a cluster of three."""

import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from ports import free_port, free_ports

BINARY = str(Path(sys.executable).with_name("nats-server"))
PATIENCE = 60.0
"""Seconds to wait for what comes in well under one, unless the machine is busy. It only ends what hangs."""


class NatsServer:
    """One server in ``directory``. It keeps its port and its data when it is started again.

    ``configuration``: lines of its file; ``{directory}`` in them is the directory.
    """

    def __init__(self, directory, configuration="", *, jetstream=True, name="one"):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.port = free_port()
        self._log = self.directory / "log"
        self._file = self.directory / "server.conf"
        store = f'jetstream {{ store_dir: "{self.directory}/js" }}' if jetstream else ""
        text = configuration.replace("{directory}", str(self.directory))
        self._file.write_text(f"server_name: {name}\n{store}\n{text}\n")
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self._process.pid

    def begin(self):
        """Start it, and do not wait."""
        for file in self.directory.glob("*.ports"):
            file.unlink()
        command = [BINARY, "-c", self._file, "-a", "127.0.0.1", "-p", str(self.port)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--ports_file_dir", self.directory],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                # The kernel lets a stopped process go on when its group is orphaned by the end of another one in it.
                process_group=0,
            )

    def start(self):
        self.begin()
        self.ready()

    def ready(self):
        """Wait until it listens."""
        file = self.directory / f"nats-server_{self._process.pid}.ports"
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self._process.poll() is not None:
                raise AssertionError(self._log.read_text())
            if file.exists():
                return
            select.select([], [], [], 0.005)
        raise AssertionError("the server did not start: " + self._log.read_text())

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def route_to(self, port):
        """Let it listen for the other servers of its cluster at another port, and look for them there only."""
        here = f'listen: "127.0.0.1:{port}", routes: ["nats://127.0.0.1:{port}"]'
        text = re.sub(r'listen: "127.0.0.1:\d+", routes: \[.*?\]', here, self._file.read_text())
        self._file.write_text(text)

    def signal(self, number):
        self._process.send_signal(number)

    def lame_duck(self):
        """Ask it to send its clients elsewhere."""
        self._process.send_signal(signal.SIGUSR2)

    def reload(self, configuration):
        """Replace a part of its configuration, and let it read that."""
        store = [
            line
            for line in self._file.read_text().splitlines()
            if line.startswith(("server_name", "jetstream"))
        ]
        self._file.write_text("\n".join([*store, configuration.replace("{directory}", str(self.directory))]))
        self._process.send_signal(signal.SIGHUP)


class Cluster:
    """Three servers that know each other. ``configuration``: more lines for each, as of `NatsServer`."""

    def __init__(self, directory, size=3, configuration=""):
        routes = free_ports(size)
        told = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
        self.servers = [
            NatsServer(
                Path(directory, f"n{number}"),
                f'cluster {{ name: c, listen: "127.0.0.1:{route}", routes: [{told}] }}\nlame_duck_grace_period: "1s"\nlame_duck_duration: "30s"\n{configuration}',
                name=f"n{number}",
            )
            for number, route in enumerate(routes)
        ]

    def __enter__(self):
        for server in self.servers:
            server.begin()
        for server in self.servers:
            server.ready()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.kill()

    @property
    def urls(self):
        return tuple(server.url for server in self.servers)

    def cut_off(self, server):
        """Start a server again that can't reach the others, nor they it."""
        server.kill()
        server.route_to(free_port())
        server.start()

    def named(self, name):
        return next(server for server in self.servers if server.name == name)
