"""What the process that renders templates gives up before it sees the first one, and how much it may use."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from contextlib import suppress
from typing import Final

MEMORY: Final = 100 << 20
"""Bytes that one rendering may take beyond what the process has when it begins."""
RECYCLED: Final = 256 << 20
"""Bytes of data with which a process is replaced by a fresh one: what it keeps of templates it has seen adds up."""

_NOBODY: Final = 65534
_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE, _SET_NO_NEW_PRIVILEGES = 1, 4, 38
_SPARE_SECONDS: Final = 2
_DATA_PAGES: Final = 5
"""The field of ``statm``."""
_MOST_FILES: Final = 64


class ProcessLimits:
    """The limits of this process. What is made once stays for good: there is no way back."""

    def __init__(self, parent: int) -> None:
        """Give up all privileges, and end with ``parent``, which has started this process.

        Done once everything is imported: what follows may be unable to read our own modules.
        """
        self._sizes = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        for name, most in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NPROC, 0),
            (resource.RLIMIT_NOFILE, _MOST_FILES),
        ):
            resource.setrlimit(name, (most, most))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # these are for the parent, with which we end
        if os.geteuid() == 0:
            _become_nobody()
        libc = ctypes.CDLL(None, use_errno=True)
        for option, value in (
            (_SET_NO_NEW_PRIVILEGES, 1),
            (_SET_DUMPABLE, 0),
            (_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL)),  # last: a change of the user undoes it
        ):
            libc.prctl(option, value, 0, 0, 0)
        if os.getppid() != parent:
            raise SystemExit

    @property
    def data_bytes(self) -> int:
        """How much memory this process has for its data."""
        return int(os.pread(self._sizes, 256, 0).split()[_DATA_PAGES]) * resource.getpagesize()

    def allow(self, seconds: float) -> None:
        """Begin work that may take so many seconds of the processor, and `MEMORY` more than there is now.

        The parent ends it by its clock. This ends it where there is no parent any more.
        """
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = used.ru_utime + used.ru_stime
        _soft(resource.RLIMIT_CPU, int(spent + seconds) + _SPARE_SECONDS)
        _soft(resource.RLIMIT_DATA, self.data_bytes + MEMORY)

    def lift(self) -> None:
        """Allow any memory: the data that the parent hands over are as large as they are."""
        _soft(resource.RLIMIT_DATA, resource.RLIM_INFINITY)


def _soft(name: int, value: int) -> None:
    _, hard = resource.getrlimit(name)
    if hard != resource.RLIM_INFINITY and (value == resource.RLIM_INFINITY or value > hard):
        value = hard
    resource.setrlimit(name, (value, hard))


def _become_nobody() -> None:
    """Leave root behind. In a namespace that does not know the user nobody this can't be done."""
    with suppress(OSError):
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
