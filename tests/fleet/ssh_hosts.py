"""Hosts for a push: an sshd on loopback for each, on its own port, with its own host key, PATH and state directory."""

import getpass
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from ports import free_port
from processes_of_cli import wait_until

SSHD = "/usr/sbin/sshd"


@dataclass
class SshHost:
    """``environ`` is what a session there has; ``log`` is what the server says."""

    name: str
    port: int
    state: Path
    log: Path
    process: subprocess.Popen

    @property
    def line(self):
        """Its line in an inventory."""
        return f"{self.name} ansible_host=127.0.0.1 ansible_port={self.port}"

    @property
    def fleet(self):
        return self.state / "fleet"

    def current(self):
        """The digest in force, None before the first."""
        link = self.fleet / "push/current"
        return os.path.basename(os.path.realpath(link)) if link.exists() else None


class SshWorld:
    """The keys, and the client's configuration, of all hosts of a module."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.hosts = []
        self.config = self.directory / "ssh_config"
        self.known = self.directory / "known_hosts"
        self.key = self._key("client")
        self.authorized = self.directory / "authorized_keys"
        self.authorized.write_text(self.key.with_suffix(".pub").read_text())
        self.known.touch()
        self.config.write_text(
            f"Host *\n  UserKnownHostsFile {self.known}\n  GlobalKnownHostsFile none\n"
            f"  IdentityFile {self.key}\n  IdentitiesOnly yes\n  IdentityAgent none\n"
        )
        (self.directory / "bin").mkdir()
        program = self.directory / "bin/reactor"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m reactor "$@"\n')
        program.chmod(0o755)

    def _key(self, name):
        path = self.directory / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
        return path

    def start(self, name, path=None, state=None, known=True, **settings):
        """Start a host. ``path`` is the PATH there: by default, with reactor."""
        state = Path(state or self.directory / f"state-{name}")
        key = self._key(f"host-{name}")
        port = free_port()
        log = self.directory / f"log-{name}"
        lines = [  # the first value of a setting counts
            *(f"{key} {value}" for key, value in settings.items()),
            f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {key}", f"AuthorizedKeysFile {self.authorized}",
            "StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin prohibit-password",
            f"PidFile {self.directory}/pid-{name}", "MaxStartups 100", "LogLevel ERROR",
            f"SetEnv PATH={path or f'{self.directory}/bin:/usr/bin:/bin'} REACTOR_STATE_DIR={state} HOME={self.directory}/home-{name}",
        ]  # fmt: skip
        config = self.directory / f"sshd-{name}"
        config.write_text("\n".join(lines) + "\n")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        process = subprocess.Popen(
            [SSHD, "-D", "-f", str(config), "-E", str(log)], stdin=subprocess.DEVNULL, start_new_session=True
        )
        if known:
            public = key.with_suffix(".pub").read_text().split()
            with self.known.open("a") as file:
                file.write(f"[127.0.0.1]:{port} {public[0]} {public[1]}\n")
        host = SshHost(name, port, state, log, process)
        self.hosts.append(host)
        wait_until(lambda: accepts(port) or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        return host

    def close(self):
        for host in self.hosts:
            host.process.kill()
            host.process.wait()
            (host.fleet / "standby").unlink(missing_ok=True)  # its process ends with it


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def ssh_world(directory):
    """A world of hosts that ends with the block. The connections of pushes have their sockets in it."""
    with tempfile.TemporaryDirectory() as runtime, mock.patch.dict(os.environ, XDG_RUNTIME_DIR=runtime):
        made = SshWorld(directory)
        try:
            yield made
        finally:
            close_connections(runtime)
            made.close()


def connections(runtime=None):
    """The sockets of the connections that stay for the next push."""
    return list(Path(runtime or os.environ["XDG_RUNTIME_DIR"], "reactor/ssh").glob("*"))


def close_connections(runtime=None):
    """End the connections that stay for the next push."""
    for socket_of_master in connections(runtime):
        subprocess.run(
            ["ssh", "-O", "exit", "-S", socket_of_master, "any"], stderr=subprocess.DEVNULL, check=False
        )


USER = getpass.getuser()
