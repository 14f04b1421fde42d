"""What makes two sessions on a host alike, so that a process of one may do the work of the other."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_OF_ONE_SESSION = ("SSH_", "XDG_SESSION_", "SUDO_COMMAND=")
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
_FILES = ("limits", "loginuid", "oom_score_adj", "attr/current")
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
    root = os.stat("/")
    parts = (
        sys.executable,
        tuple(sys.flags),
        tuple(sys.path),
        (root.st_dev, root.st_ino),
        os.getcwd(),
        os.getpriority(os.PRIO_PROCESS, 0),
        tuple(map(_namespace, _NAMESPACES)),
        tuple(map(_content, _FILES)),
        [line for line in _content("status").splitlines() if line.startswith(_LINES)],
        sorted(each for each in _environment() if not each.startswith(_OF_ONE_SESSION)),
    )
    return repr(parts).encode(errors="surrogateescape")


def _environment() -> list[str]:
    return [f"{name}={value}" for name, value in os.environ.items()]


def _namespace(name: str) -> str:
    with suppress(OSError):  # an older kernel does not have them all
        return os.readlink(f"/proc/self/ns/{name}")
    return ""


def _content(name: str) -> str:
    with suppress(OSError), open(f"/proc/self/{name}", encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
    return ""
