"""Real daemons of docker and podman, without a network, and an image that is made on the spot."""

from __future__ import annotations

import http.client
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from processes_of_cli import wait_until

PROGRAM = """
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void end(int signal) { exit(0); }
int main(int count, char **words) { signal(SIGTERM, end); if (count > 1) return 3; for (;;) pause(); }
"""
"""Waits until it is told to end; with an argument, it fails at once."""
RUNTIMES = ("docker", "podman")
VARIABLE = "REACTOR_CONTAINER_RUNTIMES"
"""The environment variable with the runtimes to test, between spaces. By default docker, which starts fastest."""


def chosen_runtimes():
    """The runtimes to test."""
    return os.environ.get(VARIABLE, RUNTIMES[0]).split()


class World:
    """A daemon at ``socket``."""

    def __init__(self, runtime, root):
        self.runtime = runtime
        self.root = root
        self.socket = f"{root}/socket"
        self.process = None

    def start(self):
        """Start the daemon, and wait until it listens."""
        commands = {
            "docker": [
                "dockerd", "--data-root", f"{self.root}/data", "--exec-root", f"{self.root}/exec",
                "--pidfile", f"{self.root}/pid", "--host", f"unix://{self.socket}", "--storage-driver", "vfs",
                "--iptables=false", "--ip-forward=false", "--ip6tables=false", "--bridge=none", "--shutdown-timeout=1",
            ],
            "podman": [
                "podman", "--root", f"{self.root}/data", "--runroot", f"{self.root}/exec", "--storage-driver", "vfs",
                "--cgroup-manager", "cgroupfs", "--events-backend", "file", "--runtime", shutil.which("runc") or "runc",
                "--tmpdir", f"{self.root}/tmp", "system", "service", "--time=0", f"unix://{self.socket}",
            ],
        }  # fmt: skip
        (self.root / "containers.conf").write_text(
            '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]\n'
        )
        variables = {
            **os.environ,
            "CONTAINERS_CONF": f"{self.root}/containers.conf",
            "TMPDIR": str(self.root),
        }
        variables.pop("DOCKER_HOST", None)
        with (self.root / "log").open("ab") as log:
            self.process = subprocess.Popen(commands[self.runtime], env=variables, stdout=log, stderr=log)
        wait_until(self._answers)

    def _answers(self):
        assert self.process.poll() is None, (self.root / "log").read_text()
        try:
            self.ask("GET", "/_ping")
        except OSError:
            return False
        return True

    def stop(self):
        """End the daemon."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def ask(self, method, target, body=None, kind="application/json"):
        """Send a request without the code of the kind; return the document of the answer."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        with closing(http.client.HTTPConnection("localhost")) as connection:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(self.socket)
            connection.request(method, target, data, {"Content-Type": kind})
            answer = connection.getresponse()
            words = answer.read()
        assert answer.status < 400 or answer.status == 404, words
        try:
            return None if answer.status == 404 else json.loads(words or b"{}")
        except ValueError:
            return words

    def inspect(self, name):
        """The container; None if there is none."""
        return self.ask("GET", f"/containers/{name}/json")

    def import_image(self, name, program, mark):
        """Make an image of one program; another ``mark`` makes another image."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(program, "wait")
            entry = tarfile.TarInfo("mark")
            entry.size = len(mark)
            archive.addfile(entry, io.BytesIO(mark.encode()))
        repository, _, tag = name.rpartition(":")
        # podman 4.3 wants the tag in the name
        query = (
            f"fromSrc=-&repo={quote(name)}"
            if self.runtime == "podman"
            else f"fromSrc=-&repo={quote(repository)}&tag={tag}"
        )
        self.ask("POST", f"/images/create?{query}", packed.getvalue(), "application/x-tar")

    def network(self, name):
        """The network; None if there is none."""
        return self.ask("GET", f"/networks/{name}")

    def remove_all(self):
        """Remove all containers, and all networks that were made."""
        for each in self.ask("GET", "/containers/json?all=true"):
            self.ask("DELETE", f"/containers/{each['Id']}?force=true")
        for each in self.ask("GET", "/networks"):
            if each["Name"] not in ("bridge", "host", "none", "podman"):
                self.ask("DELETE", f"/networks/{each['Name']}")


@contextmanager
def world(runtime):
    """A daemon with the images localhost/wait:1 and localhost/wait:2. Its files are in a directory with a short name."""
    root = Path(tempfile.mkdtemp(prefix="c-"))
    made = World(runtime, root)
    try:
        (root / "wait.c").write_text(PROGRAM)
        subprocess.run(["cc", "-static", "-O1", "-o", root / "wait", root / "wait.c"], check=True)
        made.start()
        for tag in ("1", "2"):
            made.import_image(f"localhost/wait:{tag}", root / "wait", tag)
        yield made
        made.remove_all()
    finally:
        if made.process is not None and made.process.poll() is None:
            made.stop()
        subprocess.run(
            ["sh", "-c", 'grep -o "$0[^ ]*" /proc/mounts | sort -r | xargs -r umount -l', str(root)],
            check=False,
        )
        shutil.rmtree(root, ignore_errors=True)
