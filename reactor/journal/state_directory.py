"""The state directory, and the lock that prevents two runs from using it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from reactor.errors import ReactorError
from reactor.named_tuple import NamedTuple
from reactor.trust.inputs import make_own_directory, require_own_directory
from reactor.trust.rule import DistrustedError

ENVIRONMENT_VARIABLE = "REACTOR_STATE_DIR"
SYSTEM_DIRECTORY = "/var/lib/reactor"
LOCK_FILE = "lock"
PAUSES_FILE = "pauses.json"
SOCKET_FILE = "control.sock"
PROOF_FILE = "proof.json"
REFUSED_FILE = "refused.json"
ANOTHER = f"use another state directory: --state-dir or {ENVIRONMENT_VARIABLE}"

_SICK_DISK = {errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO}


class StateDirectoryError(ReactorError):
    """The state directory can't be used. ``sick_disk`` says that the disk is read-only, full or damaged."""

    code = "R0602"

    def __init__(self, message: str, hint: str, *, sick_disk: bool = False, code: str | None = None) -> None:
        super().__init__(message, hint, code=code)
        self.sick_disk = sick_disk

    @classmethod
    def of(cls, error: OSError, what: str) -> StateDirectoryError:
        """The error for an OSError. ``what`` names the failed step."""
        sick = error.errno in _SICK_DISK
        hint = "free disk space, or mount the disk writable" if sick else ANOTHER
        return cls(f"{what}: {error.strerror or error}", hint, sick_disk=sick)


class LockedError(ReactorError):
    """Another run holds the state directory; the message says which."""

    code = "R0601"


class Location(NamedTuple):
    """The path of the state directory. ``chosen`` says that the option or the environment set it."""

    path: str
    chosen: bool


def locate(option: str | None = None) -> Location | None:
    """The option, else $REACTOR_STATE_DIR, else /var/lib/reactor for root and the XDG state directory for other users.

    None if the user has no home directory. Creates nothing.
    """
    if chosen := option or os.environ.get(ENVIRONMENT_VARIABLE):
        return Location(os.path.abspath(chosen), chosen=True)
    if os.geteuid() == 0:
        return Location(SYSTEM_DIRECTORY, chosen=False)
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # unset, or relative: the XDG specification says to ignore that
        base = os.path.expanduser("~/.local/state")
    return Location(os.path.join(base, "reactor"), chosen=False) if os.path.isabs(base) else None


def is_ours(path: str) -> bool:
    """Whether the state directory ``path`` is there, belongs to us, and is not open to all users."""
    try:
        _refuse_foreign(path, os.stat(path))
    except (OSError, StateDirectoryError):
        return False
    return True


def is_trusted(path: str) -> bool:
    """Whether a run may write to the state directory ``path``: it is ours, and nobody could put another in its place."""
    try:
        require_own_directory(path)
    except (DistrustedError, OSError):
        return False
    return is_ours(path)


@contextmanager
def short_socket_path(directory: str) -> Iterator[str]:
    """A short path of the control socket, for any directory: the kernel allows only 107 bytes."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_FILE}"
    finally:
        os.close(descriptor)


def may_have_run(path: str) -> bool:
    """Whether an active run may answer in the state directory ``path``: it is ours, and has a control socket."""
    return os.path.lexists(os.path.join(path, SOCKET_FILE)) and is_ours(path)


class StateDirectory:
    """An existing state directory that belongs to us. `lock` it before writing to it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock: int | None = None
        self._manifest = ""

    @classmethod
    def make(cls, path: str) -> StateDirectory:
        """Create the directory if needed, with mode 0700. Raises StateDirectoryError, also if other users could change it."""
        try:
            if os.path.exists(path):
                _refuse_foreign(path, os.stat(path))
            make_own_directory(path)
            _refuse_foreign(path, os.stat(path))
        except DistrustedError as error:
            words = f"the state directory {path} can't be trusted: {error}"
            raise StateDirectoryError(words, f"{error.fix}; or {ANOTHER}", code="R0401") from error
        except OSError as error:
            raise StateDirectoryError.of(error, f"can't make the state directory {path}") from error
        return cls(path)

    def lock(self, manifest: str) -> None:
        """Lock the directory until `release` or the end of the process.

        Raises LockedError, which names the holder, and StateDirectoryError.
        """
        path = os.path.join(self.path, LOCK_FILE)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise StateDirectoryError.of(error, f"can't open {path}") from error
        try:
            _take(descriptor)
            # The disk is full: a second run gets a shorter message, but can't start either.
            with suppress(OSError):
                _sign(descriptor, manifest)
        except BlockingIOError:
            heir = "a child of " if _has_ended(descriptor) else ""
            text = f"{heir}{_holder(descriptor)} uses the state directory {self.path}"
            os.close(descriptor)
            raise LockedError(text, f"stop that run, or {ANOTHER}") from None
        except OSError as error:
            os.close(descriptor)
            raise StateDirectoryError.of(error, f"can't lock {path}") from error
        self._lock = descriptor
        self._manifest = manifest

    def is_lost(self) -> bool:
        """Whether the lock, or the whole directory, was removed or replaced, so that our lock protects nothing."""
        if self._lock is None:
            return True
        try:
            found = os.lstat(os.path.join(self.path, LOCK_FILE))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:  # a disk error proves nothing
            return False
        return not os.path.samestat(found, os.fstat(self._lock))

    def renew(self) -> None:
        """Create and lock the directory again. Raises LockedError and StateDirectoryError; then nothing is locked."""
        self.release()
        self.make(self.path)
        self.lock(self._manifest)

    def release(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _take(descriptor: int) -> None:
    """Take the lock. Raises BlockingIOError if another process holds it.

    Waits for up to a second for a child of a run that was killed: it holds the lock until it executes its program.
    """
    for _ in range(100):
        with suppress(BlockingIOError):
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _has_ended(descriptor):
            break
        time.sleep(0.01)
    return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def holder(directory: str) -> str | None:
    """The run that holds the lock of a state directory, as text; None if there is none, or it can't be read."""
    try:
        # Without blocking: a pipe in its place would wait for a writer.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(os.path.join(directory, LOCK_FILE), flags)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(descriptor)
    except OSError:  # the file system has no locks
        return None
    finally:
        os.close(descriptor)
    return None


def _refuse_foreign(path: str, found: os.stat_result) -> None:
    """Raise StateDirectoryError if other users can write to the directory: its content could not be trusted."""
    if not stat.S_ISDIR(found.st_mode):
        raise StateDirectoryError(f"the state directory {path} is not a directory", ANOTHER)
    if found.st_uid != os.geteuid():
        text = f"the state directory {path} belongs to user {found.st_uid}, but reactor runs as user {os.geteuid()}"
        raise StateDirectoryError(text, ANOTHER)
    if found.st_mode & stat.S_IWOTH:
        raise StateDirectoryError(
            f"every user can write to the state directory {path}", f"chmod 0700 {path}, or {ANOTHER}"
        )


def _sign(descriptor: int, manifest: str) -> None:
    """Write the process and the manifest that hold the lock, for the message of a second run."""
    text = json.dumps({"pid": os.getpid(), "manifest": manifest, "since": time.time()})
    os.pwrite(descriptor, text.encode(), 0)
    os.ftruncate(descriptor, len(text.encode()))


def _has_ended(descriptor: int) -> bool:
    """Whether the process that signed the lock runs no more, also if its parent has not noticed yet."""
    try:
        number = int(json.loads(os.pread(descriptor, 65536, 0))["pid"])
        with open(f"/proc/{number}/cmdline", "rb") as file:
            return not file.read(1)
    except FileNotFoundError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False


def held_manifest(directory: str) -> str | None:
    """The manifest of the run that holds the lock of a state directory; None if there is none, or it is unknown."""
    if holder(directory) is None:
        return None
    try:
        with open(os.path.join(directory, LOCK_FILE), "rb") as file:
            found: Any = json.load(file)["manifest"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None


def _holder(descriptor: int) -> str:
    """The holder of the lock as text; "another process" if it has written nothing."""
    try:
        found: Any = json.loads(os.pread(descriptor, 65536, 0))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found["since"]))
        return f"process {found['pid']} (reactor run {found['manifest']}, since {since})"
    except (ValueError, KeyError, TypeError, OverflowError):
        return "another process"
