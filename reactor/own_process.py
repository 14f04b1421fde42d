"""The process itself: when it began, which files it runs, and whether it may do the work of another one."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress

IMPORTED = time.time_ns()
"""When this process imported its first module of reactor, in nanoseconds. Whatever it reads of the host, it reads later."""
_IMPORTED_AT = time.monotonic_ns()
BEGAN = IMPORTED - 100_000_000
"""When this process began to import: 0.1 s earlier for the start of Python, and for clocks of file systems, which are late."""
_STEP_NS = 10_000_000
"""If the clock and the monotonic one, which nobody can set, drift further apart than this, somebody has set the clock.

It is half of the age at which a stamp is reliable.
"""


def _own_stamp() -> tuple[int, ...]:
    try:
        found = os.stat(__file__)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


_OWN = _own_stamp()


def is_replaced() -> bool:
    """Whether this version of reactor was removed, or another installed in its place, while this process runs."""
    return _own_stamp() != _OWN


FileStamp = tuple[int, int, int]
"""The device, number and time of change of a file."""

_OF_ONE_SESSION = (
    "SSH_", "XDG_SESSION_", "SUDO_COMMAND=", "INVOCATION_ID=", "SYSTEMD_EXEC_PID=", "JOURNAL_STREAM=",
    "SHLVL=", "OLDPWD=", "_=",
)  # fmt: skip
"""Variables that only name the session, the unit or the shell."""
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

    Two processes with equal descriptions do the same with the same input. What only names the session is left out.
    Raises OSError.
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
    """The user, rights, limits and namespaces of a process, as the kernel tells them: a process can claim anything.

    Raises OSError.
    """
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


def clock_was_set() -> bool:
    """Whether the clock was set since this process began: then times of files prove nothing."""
    return abs((time.time_ns() - IMPORTED) - (time.monotonic_ns() - _IMPORTED_AT)) > _STEP_NS


def loaded_files() -> dict[str, FileStamp]:
    """The files of modules, of the program and of libraries in this process. Raises OSError, also if one was replaced."""
    found = {file for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))}
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            _range, mode, _offset, _device, _number, *path = line.rstrip("\n").split(maxsplit=5)
            if "x" in mode:
                found |= {each for each in path if each.startswith("/") and not each.startswith("/memfd:")}
    return {file: file_stamp(file) for file in found}


def file_stamp(file: str) -> FileStamp:
    """The stamp of a file. Raises OSError."""
    found = os.stat(file)
    return found.st_dev, found.st_ino, found.st_ctime_ns


def are_current(files: dict[str, FileStamp]) -> bool:
    """Whether no file has changed since it was imported: an update of reactor, or of Python, needs a new process."""
    try:
        return were_imported(files) and all(file_stamp(file) == stamp for file, stamp in files.items())
    except OSError:
        return False


def were_imported(files: dict[str, FileStamp]) -> bool:
    """Whether all these files are older than this process, so that it has imported their present content."""
    return not clock_was_set() and all(stamp[-1] < BEGAN for stamp in files.values())
