"""The privileges that a worker process drops before its first template, and its rlimits."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from contextlib import suppress
from typing import Final

MEMORY: Final = 100 << 20
"""The bytes that one rendering may use in addition to those that the process uses before."""
RECYCLED: Final = 256 << 20
"""A process that uses this many bytes of data is replaced, because its caches of templates grow."""

_NOBODY: Final = 65534
_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE, _SET_NO_NEW_PRIVILEGES = 1, 4, 38
_SPARE_SECONDS: Final = 2
_DATA_PAGES: Final = 5
"""The index of the data size in ``statm``."""
_MOST_FILES: Final = 64


class ProcessLimits:
    """The limits of this process. It can't regain dropped privileges."""

    def __init__(self, parent: int) -> None:
        """Drop all privileges, and have the kernel kill this process when ``parent``, which started it, ends.

        Call it when everything is imported: afterwards the process may be unable to read our modules. Raises OSError.
        """
        self._sizes = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        for name, most in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NPROC, 0),
            (resource.RLIMIT_NOFILE, _MOST_FILES),
        ):
            _, hard = resource.getrlimit(name)
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)  # it may be lower already
            resource.setrlimit(name, (least, least))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # the parent handles these, and this process ends with it
        if os.geteuid() == 0:
            _become_nobody()
        libc = ctypes.CDLL(None, use_errno=True)
        for option, value in (
            (_SET_NO_NEW_PRIVILEGES, 1),
            (_SET_DUMPABLE, 0),
            (_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL)),  # last: a change of the user resets it
        ):
            libc.prctl(option, value, 0, 0, 0)
        if os.getppid() != parent:
            raise SystemExit

    @property
    def data_bytes(self) -> int:
        """The bytes of data that this process uses."""
        return int(os.pread(self._sizes, 256, 0).split()[_DATA_PAGES]) * resource.getpagesize()

    def allow(self, seconds: float) -> None:
        """Limit the next work to ``seconds`` of processor time, and to `MEMORY` bytes more than are used now.

        The parent enforces the time with its own clock. This limit works even if the parent is gone.
        """
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = used.ru_utime + used.ru_stime
        _soft(resource.RLIMIT_CPU, int(spent + seconds) + _SPARE_SECONDS)
        _soft(resource.RLIMIT_DATA, self.data_bytes + MEMORY)

    def lift(self) -> None:
        """Lift the memory limit, because the data from the parent may be large."""
        _soft(resource.RLIMIT_DATA, resource.RLIM_INFINITY)


def _soft(name: int, value: int) -> None:
    _, hard = resource.getrlimit(name)
    if hard != resource.RLIM_INFINITY and (value == resource.RLIM_INFINITY or value > hard):
        value = hard
    resource.setrlimit(name, (value, hard))


def _become_nobody() -> None:
    """Change to the user nobody. In a namespace without that user, this fails and keeps the current user."""
    with suppress(OSError):
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
