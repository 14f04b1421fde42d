"""Turns errors of the operating system into sentences, with a hint on how to repair the cause."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from types import TracebackType

from reactor.errors import MORE_FILES
from reactor.resource.plan import ResourceError

_TOO_TIGHT = (
    "if reactor is a service, its sandbox may be too tight for the current manifest:"
    " run 'reactor service install MANIFEST' again"
)
_READ_ONLY = f"mount the file system writable; {_TOO_TIGHT}"
_LEASED = "a program holds a lease on it, see fcntl(2), as a file server does: /proc/locks names its pid"
_HINTS = {
    errno.EACCES: "run as root, or as a user who may use every directory of the path",
    errno.EPERM: "run as root; if lsattr -d shows i or a for it or its directory, clear that flag with chattr -ia",
    errno.EROFS: _READ_ONLY,
    errno.ENOSPC: "the file system is full: free some space or inodes",
    errno.EDQUOT: "the disk quota is used up: free some space or raise it",
    errno.EBUSY: "something is mounted there: unmount it first",
    errno.ENOTEMPTY: "something puts files into it at the same time: stop that first",
    errno.EEXIST: "something in the path is not a directory: see namei -l",
    errno.ENOTDIR: "something in the path is not a directory: see namei -l",
    errno.ENAMETOOLONG: "shorten the path",
    errno.EINVAL: "the user namespace may not have this owner or group (see /proc/self/uid_map and gid_map),"
    " or the file system does not accept such a name",
    errno.ETXTBSY: "it is a program that runs, and is mounted by itself, so it can't be replaced: stop it first",
    errno.ENOTCONN: "the process that serves the file system has ended: unmount it, and mount it again",
    errno.ESTALE: "its server no longer has it: unmount the file system, and mount it again",
    errno.ELOOP: "the path has a loop of symlinks: see namei -l",
    errno.EIO: "its disk is failing: see dmesg",
    errno.EFBIG: "raise the limit of the size of files: ulimit -f",
    errno.ENFILE: "raise the limit of open files of the host: sysctl fs.file-max",
    errno.EMFILE: MORE_FILES,
}


def resource_error(error: OSError, doing: str, hint: str | None = None) -> ResourceError:
    """The error to raise when ``doing`` (``write /etc/motd``) failed with ``error``.

    ``hint`` replaces the usual hint.
    """
    reason = error.strerror or str(error)
    is_missing = error.errno == errno.ENOENT and isinstance(error.filename, str)
    missing = os.path.normpath(error.filename) if is_missing else None
    hint = hint or _HINTS.get(error.errno or 0)
    if hint is None and error.errno == errno.EAGAIN and error.filename is not None:
        hint = _LEASED  # a file could not be opened; without a name, no process could be started
    if hint is not None and error.errno == errno.EPERM:
        hint = permission_hint(hint)
    return ResourceError(f"cannot {doing}: {reason}", hint, missing=missing)


def permission_hint(usual: str) -> str:
    """The hint for what the kernel does not permit: in the sandbox of the service, that may be the cause."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as status:
        if "NoNewPrivs:\t1\n" in status.read():  # as in each sandbox that the service has
            return f"{usual}; {_TOO_TIGHT}"
    return usual


class ErrorContext:
    """Turns every OSError in the block into a ResourceError: ``with ErrorContext("write /etc/motd"):``."""

    __slots__ = ("_doing", "_hint")

    def __init__(self, doing: str, hint: str | None = None) -> None:
        self._doing = doing
        self._hint = hint

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise resource_error(error, self._doing, self._hint) from error
