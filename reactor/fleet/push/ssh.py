"""The arguments of the system's ssh. It uses the configuration, agent and known hosts of the user."""

from __future__ import annotations

import re
from typing import NamedTuple

from reactor.fleet.push.inventory_host import Host

_PROGRAM = 'PATH="$PATH:/usr/local/bin:/opt/reactor/bin:$HOME/.local/bin"; export PATH; '
_RECEIVE = _PROGRAM + "command -v reactor >/dev/null || exit 127; exec reactor receive"
_SILENT_LIMIT = 3
_CHANGED_KEY = "IDENTIFICATION HAS CHANGED"
_UNKNOWN_KEY = "Host key verification failed"
_DENIED = "Permission denied"

MISSING_CODE = 127
"""The exit code of the command on a host that has no reactor."""
SSH_FAILED = 255
"""The exit code of ssh itself."""


class Ssh(NamedTuple):
    """``config`` is a configuration file in place of the user's own; ``timeout`` for connecting is in seconds.

    ``control`` is the private directory for the sockets of the master connections, one for each host.
    """

    control: str
    config: str | None = None
    timeout: int = 10
    keeps_master: bool = False
    """Whether the connection stays for further sessions, until `closing_words` run."""

    def words(self, host: Host, command: str) -> list[str]:
        """The command line of a session on ``host``. No value of the host can be an option."""
        options = [
            "BatchMode=yes",
            f"ConnectTimeout={self.timeout}",
            f"ServerAliveInterval={max(1, self.timeout)}",
            f"ServerAliveCountMax={_SILENT_LIMIT}",
            "ControlMaster=auto",
            *(("ControlPersist=60",) if self.keeps_master else ("ControlPersist=no",)),
        ]
        return [
            *self._to(host),
            "-T",
            *(word for each in options for word in ("-o", each)),
            *_target(host),
            command,
        ]

    def closing_words(self, host: Host) -> list[str]:
        """The command line that ends the master connection to ``host``."""
        return [*self._to(host), "-O", "exit", *_target(host)]

    def _to(self, host: Host) -> list[str]:
        words = ["ssh"]
        if self.config is not None:
            words += ["-F", self.config]
        if host.port is not None:
            words += ["-p", str(host.port)]
        if host.user is not None:
            words += ["-l", host.user]
        if host.key is not None:
            words += ["-i", host.key, "-o", "IdentitiesOnly=yes"]
        return [*words, "-o", f"ControlPath={self.control}/%C"]


def _target(host: Host) -> tuple[str, str]:
    return "--", host.address


def receive_command(host: Host, *, become: bool) -> str:
    """The command that takes the push on the host. It is the same for every push: all values go over stdin."""
    return _as_root(_RECEIVE, become=become or host.become)


def python_command(host: Host, code: str, *, become: bool) -> str:
    """The command that runs ``code``, which has no single quote, by the Python of the host."""
    return _as_root(f'exec python3 -I -c "{code}"', become=become or host.become)


def _as_root(script: str, *, become: bool) -> str:
    return f"{'exec sudo -n -- ' if become else 'exec '}sh -c '{script}'"


def hint_for(error: str, host: Host) -> str | None:
    """How to fix an error of ssh."""
    login = " ".join(
        [
            "ssh",
            *(["-p", str(host.port)] if host.port else []),
            f"{host.user}@{host.address}" if host.user else host.address,
        ]
    )
    if _CHANGED_KEY in error:
        return "it may be another host: ask why its key has changed, before you remove the old one from known_hosts"
    if _UNKNOWN_KEY in error:
        return f"check its key, and accept it once: {login}"
    if _DENIED in error:
        return f"this must work without a password: {login} true"
    if re.search(r"timed out|No route|refused|resolve", error):
        return "check that the host is up, and its address and port"
    return None
