"""The arguments of the system's ssh. It uses the configuration, agent and known hosts of the user."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from reactor.fleet.push.bootstrap import BOOTSTRAP_CODE, MISSING_CODE, SENT_BEFORE_CODE
from reactor.fleet.push.inventory_host import Host

_PROGRAM = 'PATH="$PATH:/usr/local/bin:/opt/reactor/bin:$HOME/.local/bin"; export PATH; '
_RECEIVE = _PROGRAM + "command -v reactor >/dev/null && exec reactor receive; "
_NEWLINE = "@"
"""Stands for the end of a line in the programs for Python, which do not have it otherwise."""
_SILENT_LIMIT = 3
_CHANGED_KEY = "IDENTIFICATION HAS CHANGED"
_UNKNOWN_KEY = "Host key verification failed"
_DENIED = "Permission denied"
_NO_WAY_THROUGH = "by UNKNOWN port"
"""ssh throws away what its `ProxyJump` or `ProxyCommand` says, because the connection stays for the next session."""

SSH_FAILED = 255
"""The exit code of ssh itself."""
STAYS = 60
"""Seconds that a connection stays for the next session."""
_LOGIN = 8
_HASH, _SUFFIX, _LONGEST_ADDRESS = 40, 17, 107
LONGEST_DIRECTORY = _LONGEST_ADDRESS - len("/") - _LOGIN - _HASH - _SUFFIX
"""The most characters of a directory for sockets: ssh adds names, and the kernel takes no longer address."""


class Ssh(NamedTuple):
    """``config`` is a configuration file in place of the user's own; ``timeout`` for connecting is in seconds.

    ``sockets`` is the private directory of the master connections, one for each host, user and key. They stay for
    `STAYS` seconds after the last session, so that the next one needs no login. Without it, each session logs in.
    """

    sockets: str | None = None
    config: str | None = None
    timeout: int = 10

    def words(self, host: Host, command: str) -> list[str]:
        """The command line of a session on ``host``. No value of the host can be an option."""
        options = [
            "BatchMode=yes",
            f"ConnectTimeout={self.timeout}",
            f"ServerAliveInterval={max(1, self.timeout)}",
            f"ServerAliveCountMax={_SILENT_LIMIT}",
            *self._sharing(host),
        ]
        return [
            *self._to(host),
            "-T",
            *(word for each in options for word in ("-o", each)),
            "--",
            host.address,
            command,
        ]

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
        return words

    def _sharing(self, host: Host) -> list[str]:
        if self.sockets is None:
            return ["ControlMaster=no", "ControlPath=none"]
        login = hashlib.sha256(f"{self.config}\0{host.key}".encode()).hexdigest()[:_LOGIN]
        return ["ControlMaster=auto", f"ControlPersist={STAYS}", f"ControlPath={self.sockets}/{login}%C"]


def receive_command(host: Host, *, become: bool, sends_own: bool = False) -> str:
    """The command that takes the push on the host. It is the same for every push: all values go over stdin.

    If reactor is not installed there, it uses the one that an earlier push sent, unless the push ``sends_own``.
    """
    otherwise = f"exit {MISSING_CODE}" if sends_own else _by_python(SENT_BEFORE_CODE)
    return _as_root(_RECEIVE + otherwise, become=become or host.become)


def bootstrap_command(host: Host, *, become: bool) -> str:
    """The command that takes reactor and the push, by the Python of the host."""
    return _as_root(_by_python(BOOTSTRAP_CODE), become=become or host.become)


def _by_python(code: str) -> str:
    """The command that runs ``code``, on one line: for csh as a login shell, quotes end with the line."""
    line = code.strip().replace("\n", _NEWLINE)
    return rf'exec python3 -I -c "exec(r\"\"\"{line}\"\"\".replace(\"{_NEWLINE}\", chr(10)))"'


def _as_root(script: str, *, become: bool) -> str:
    return f"{'exec sudo -n -- ' if become else 'exec '}sh -c '{script}'"


def login_words(host: Host) -> str:
    """The command with which people log in there."""
    port = ["-p", str(host.port)] if host.port else []
    return " ".join(["ssh", *port, f"{host.user}@{host.address}" if host.user else host.address])


def hint_for(error: str, host: Host) -> str | None:
    """How to fix an error of ssh."""
    login = login_words(host)
    if _CHANGED_KEY in error:
        return "it may be another host: ask why its key has changed, before you remove the old one from known_hosts"
    if _UNKNOWN_KEY in error:
        return f"check its key, and accept it once: {login}"
    if _NO_WAY_THROUGH in error:
        return f"its ProxyJump or ProxyCommand does not lead there; see why: {login} true"
    if _DENIED in error:
        return f"this must work without a password: {login} true"
    if re.search(r"timed out|No route|refused|resolve", error):
        return "check that the host is up, and its address and port"
    return None
