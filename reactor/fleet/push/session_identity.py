"""What makes two sessions on a host alike, so that a process of one may do the work of the other."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress

_OF_ONE_SESSION = ("SSH_", "XDG_SESSION_", "SUDO_COMMAND=")
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
_FILES = ("limits", "loginuid", "oom_score_adj", "attr/current")
_SCOPE = re.compile(r"session-\w+\.scope")
"""The control group of one login. All of a user have the same limits."""
_LINES = (
    "Cap",
    "NoNewPrivs",
    "Seccomp",
    "SigBlk",
    "SigIgn",
    "Umask",
    "Uid",
    "Gid",
    "Groups",
    "Cpus_allowed:",
)


def session_identity() -> bytes:
    """Describe this process: its user, rights, limits, namespaces, directories, environment and Python.

    Two processes with equal descriptions do the same with the same input. What only names the session is left out. Raises OSError.
    """
    parts = (
        rights_of("self"),
        sys.executable,
        tuple(sys.flags),
        tuple(sys.path),
        os.getcwd(),
        os.getpriority(os.PRIO_PROCESS, 0),
        sorted(each for each in _environment() if not each.startswith(_OF_ONE_SESSION)),
    )
    return repr(parts).encode(errors="surrogateescape")


def rights_of(process: int | str) -> tuple[object, ...]:
    """The user, rights, limits and namespaces of a process, as the kernel tells them: a process can claim anything. Raises OSError."""
    root = os.stat(f"/proc/{process}/root")
    status = _content(process, "status").splitlines()
    return (
        (root.st_dev, root.st_ino),
        tuple(_namespace(process, name) for name in _NAMESPACES),
        tuple(_content(process, name) for name in _FILES),
        _SCOPE.sub("", _content(process, "cgroup")),
        tuple(line for line in status if line.startswith(_LINES)),
    )


def _environment() -> list[str]:
    return [f"{name}={value}" for name, value in os.environ.items()]


def _namespace(process: int | str, name: str) -> str:
    with suppress(OSError):  # an older kernel does not have them all
        return os.readlink(f"/proc/{process}/ns/{name}")
    return ""


def _content(process: int | str, name: str) -> str:
    path = f"/proc/{process}/{name}"
    with suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
    return ""
