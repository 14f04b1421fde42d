"""The directory in which state lives, and the lock that keeps two runs from sharing it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from contextlib import suppress
from typing import Any, NamedTuple

from reactor.errors import ReactorError
from reactor.trust.inputs import require_own_directory
from reactor.trust.rule import DistrustedError

ENVIRONMENT_VARIABLE = "REACTOR_STATE_DIR"
SYSTEM_DIRECTORY = "/var/lib/reactor"
LOCK_FILE = "lock"
PAUSES_FILE = "pauses.json"
ANOTHER = f"name another one with --state-dir or {ENVIRONMENT_VARIABLE}"

_SICK_DISK = {errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO}


class StateDirectoryError(ReactorError):
    """The state directory can't be used. ``sick_disk``: the disk is read-only, full or broken, not the choice."""

    code = "R0602"

    def __init__(self, message: str, hint: str, *, sick_disk: bool = False, code: str | None = None) -> None:
        super().__init__(message, hint, code=code)
        self.sick_disk = sick_disk

    @classmethod
    def of(cls, error: OSError, what: str) -> StateDirectoryError:
        """What the system refused, in words."""
        sick = error.errno in _SICK_DISK
        hint = "make room, or mount it writable" if sick else ANOTHER
        return cls(f"{what}: {error.strerror or error}", hint, sick_disk=sick)


class LockedError(ReactorError):
    """Another run holds the state directory; the text says which."""

    code = "R0601"


class Location(NamedTuple):
    """Where state is to live. ``chosen``: somebody said so; else it is the default."""

    path: str
    chosen: bool


def locate(option: str | None = None) -> Location | None:
    """The option, else $REACTOR_STATE_DIR, else /var/lib/reactor for root and the XDG state directory for others.

    None when the user has no home. Touches nothing.
    """
    if chosen := option or os.environ.get(ENVIRONMENT_VARIABLE):
        return Location(os.path.abspath(chosen), chosen=True)
    if os.geteuid() == 0:
        return Location(SYSTEM_DIRECTORY, chosen=False)
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # unset, or to be ignored by the XDG specification
        base = os.path.expanduser("~/.local/state")
    return Location(os.path.join(base, "reactor"), chosen=False) if os.path.isabs(base) else None


def is_ours(path: str) -> bool:
    """Whether what is in the state directory ``path`` can be believed."""
    try:
        _refuse_foreign(path, os.stat(path))
    except (OSError, StateDirectoryError):
        return False
    return True


class StateDirectory:
    """A state directory that is there and ours. `lock` it before anything in it is written."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock: int | None = None
        self._manifest = ""

    @classmethod
    def make(cls, path: str) -> StateDirectory:
        """Create the directory where missing, with mode 0700. Raises StateDirectoryError, also when others could change it."""
        try:
            if os.path.exists(path):
                _refuse_foreign(path, os.stat(path))
            require_own_directory(path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            try:
                os.mkdir(path, 0o700)
            except FileExistsError:
                _refuse_foreign(path, os.stat(path))
            require_own_directory(path)
        except DistrustedError as error:
            words = f"the state directory {path} can't be trusted: {error}"
            raise StateDirectoryError(words, f"{error.fix}; or {ANOTHER}", code="R0401") from error
        except OSError as error:
            raise StateDirectoryError.of(error, f"can't make the state directory {path}") from error
        return cls(path)

    def lock(self, manifest: str) -> None:
        """Hold the directory until `release` or the end of the process, however it comes.

        Raises LockedError, naming the holder, and StateDirectoryError.
        """
        path = os.path.join(self.path, LOCK_FILE)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise StateDirectoryError.of(error, f"can't open {path}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(OSError):  # a full disk: who comes second learns less, and is kept out all the same
                _sign(descriptor, manifest)
        except BlockingIOError:
            text = f"{_holder(descriptor)} uses the state directory {self.path}"
            os.close(descriptor)
            raise LockedError(text, f"end that one, or {ANOTHER}") from None
        except OSError as error:
            os.close(descriptor)
            raise StateDirectoryError.of(error, f"can't lock {path}") from error
        self._lock = descriptor
        self._manifest = manifest

    def is_lost(self) -> bool:
        """Whether what we hold is not what others find: somebody has removed the lock, or all of the directory."""
        if self._lock is None:
            return True
        try:
            found = os.lstat(os.path.join(self.path, LOCK_FILE))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:  # a sick disk tells nothing
            return False
        return not os.path.samestat(found, os.fstat(self._lock))

    def renew(self) -> None:
        """Make the directory and hold it once more. Raises LockedError and StateDirectoryError; then we hold nothing."""
        self.release()
        self.make(self.path)
        self.lock(self._manifest)

    def release(self) -> None:
        """Let others lock it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def holder(directory: str) -> str | None:
    """Who holds the lock of a state directory, in words; None when nobody does, or nobody we may know of."""
    try:
        # Without waiting for a writer, where somebody has put a pipe in its place.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(os.path.join(directory, LOCK_FILE), flags)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(descriptor)
    finally:
        os.close(descriptor)
    return None


def _refuse_foreign(path: str, found: os.stat_result) -> None:
    """What others may write can't be believed after a restart."""
    if not stat.S_ISDIR(found.st_mode):
        raise StateDirectoryError(f"the state directory {path} is not a directory", ANOTHER)
    if found.st_uid != os.geteuid():
        text = f"the state directory {path} belongs to user {found.st_uid}, and we are user {os.geteuid()}"
        raise StateDirectoryError(text, ANOTHER)
    if found.st_mode & stat.S_IWOTH:
        raise StateDirectoryError(
            f"everybody may write to the state directory {path}", f"chmod 0700 {path}, or {ANOTHER}"
        )


def _sign(descriptor: int, manifest: str) -> None:
    """Say who holds the lock, for those who come second."""
    text = json.dumps({"pid": os.getpid(), "manifest": manifest, "since": time.time()})
    os.pwrite(descriptor, text.encode(), 0)
    os.ftruncate(descriptor, len(text.encode()))


def _holder(descriptor: int) -> str:
    """The holder in words. One that has not signed yet, or never will, is just another process."""
    try:
        found: Any = json.loads(os.pread(descriptor, 65536, 0))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found["since"]))
        return f"process {found['pid']} (reactor run {found['manifest']}, since {since})"
    except (ValueError, KeyError, TypeError, OverflowError):
        return "another process"
