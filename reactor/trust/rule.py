"""The rule for trusted files: only trusted users may be able to change a file that determines what root does.

A file is trusted if it belongs to a trusted user and no other user can write to it; if the same holds for every
directory from ``/`` down to it, because a user who can write to a directory can replace a file in it; and if every
symlink on the path belongs to a trusted user. A directory that others can write to is accepted if it is sticky, such
as ``/tmp``: there, users can't move files of other users.

The path is walked from the top, so an untrusted user can't change a part that was already checked: each step is in a
directory that only trusted users can change. The file itself is checked through the descriptor that is read.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat
import time
from collections.abc import Iterable

from reactor.errors import ReactorError

_MOST_SYMLINKS = 40
"""The limit of the kernel."""
_REMEMBERED = 1.0
"""Seconds for which a trusted directory is not checked again, because one load reads many files."""
_KEEP_ELSEWHERE = "keep it in a directory that only root, or you, can change"


class DistrustedError(ReactorError, OSError):
    """An untrusted user could change the file.

    ``fix`` removes the permission, as a command or a sentence. ``hint`` also offers to trust the owner if that helps.
    """

    code = "R0401"

    def __init__(self, path: str, reason: str, fix: str, owner: str | None = None) -> None:
        hint = fix if owner is None else f"{fix}; or trust them: --trust-owner {owner}"
        super().__init__(f"{path} {reason}", hint)
        OSError.__init__(self, errno.EPERM, self.message, path)
        self.fix = fix

    def __str__(self) -> str:
        return str(self.strerror)


class Trust:
    """Trusts root, the user of this process, the further ``users``, and members of ``groups``."""

    def __init__(self, users: Iterable[int] = (), groups: Iterable[int] = ()) -> None:
        self._users = frozenset((0, os.geteuid(), *users))
        self._groups = frozenset(groups)
        self._directories: dict[str, bool] = {}
        self._since = 0.0

    def open(self, path: str, flags: int = os.O_RDONLY | os.O_CLOEXEC) -> int:
        """Open the file at ``path`` as os.open does, and return its descriptor; can be the ``opener`` of `open`.

        Raises DistrustedError, and OSError as os.open does.
        """
        place, found = self._walked(path)
        if found is not None:
            self._judge(place, found)  # opening a pipe of another user would wait for that user
        descriptor = os.open(path, flags) if found is None else os.open(place, flags | os.O_NOFOLLOW)
        try:
            opened = os.fstat(descriptor)
            # A pipe comes from the process that started us.
            if found is not None or stat.S_ISREG(opened.st_mode):
                self._judge(place, opened)
        except DistrustedError:
            os.close(descriptor)
            raise
        return descriptor

    def require_file(self, path: str) -> None:
        """Raise DistrustedError unless the file at ``path`` is trusted, and OSError if there is none."""
        place, found = self._walked(path)
        if found is not None:
            self._judge(place, found)

    def require_place(self, path: str) -> None:
        """Raise DistrustedError if an untrusted user could put something else at ``path``, whose owner may be anybody.

        Raises OSError if there is nothing.
        """
        place, found = self._walked(path)
        if found is not None and self._enter(os.path.dirname(place)):
            self._judge_owner(place, found, _KEEP_ELSEWHERE)

    def require_entry(self, entry: os.DirEntry[str]) -> None:
        """Raise DistrustedError unless ``entry`` is trusted, and OSError if it is gone.

        It is no symlink, and its directory, which has been required, was read by its real path: only the entry itself is
        looked at, which pays where there are thousands.
        """
        found = entry.stat(follow_symlinks=False)
        _refuse_planted(entry.path, found, is_shared=self._enter(os.path.dirname(entry.path)))
        self._judge(entry.path, found)

    def require_directory(self, path: str) -> None:
        """Raise DistrustedError unless only trusted users can change the content of the directory at ``path``.

        An unreadable or missing directory is accepted: it can't be used, or is created in a trusted directory.
        """
        try:
            place, found = self._walked(path)
        except DistrustedError:
            raise
        except OSError:
            return
        if found is not None:
            self._judge(place, found)

    def require_parent(self, path: str) -> None:
        """Raise DistrustedError unless only trusted users can put something at ``path`` once it is theirs.

        Raises OSError if the directory above is missing. A sticky directory that others can write to is accepted.
        """
        self._directories.clear()
        place, _ = self._walked(os.path.dirname(path) or ".")
        self._enter(place)

    def _walked(self, path: str) -> tuple[str, os.stat_result | None]:
        """The real path of ``path`` and its stat; None for a descriptor of this process.

        Every directory on the path has been checked; the caller checks the file itself.
        """
        if not path:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._drop_old_results()
        here, names = self._start(path)
        found = os.lstat(here)
        symlinks = 0
        while names:
            is_shared = self._enter(here)
            if (name := names.pop()) == "..":
                here = os.path.dirname(here)
                found = os.lstat(here)
                continue
            place = f"{here}/{name}" if here != "/" else f"/{name}"
            if names and place in self._directories:
                here = place
                continue
            found = os.lstat(place)
            if not stat.S_ISLNK(found.st_mode):
                here = place
                _refuse_planted(here, found, is_shared=is_shared)
                continue
            if _is_descriptor(place):
                return place, None
            self._judge_owner(place, found, "chown -h {us} {path}")
            _refuse_planted(place, found, is_shared=is_shared)
            symlinks += 1
            if symlinks > _MOST_SYMLINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(place)
            names += _parts(target)
            here = "/" if target.startswith("/") else here
            found = os.lstat(here)
        return here, found

    def _start(self, path: str) -> tuple[str, list[str]]:
        """The directory where the walk begins, and the names from there, the first one last."""
        if os.path.isabs(path):
            return "/", _parts(path)
        try:
            current = os.getcwd()
            os.lstat(current)
        except PermissionError:  # directories above may be unreadable
            return ".", _parts(path)
        return "/", _parts(f"{current}/{path}")

    def _drop_old_results(self) -> None:
        now = time.monotonic()
        if now - self._since > _REMEMBERED:
            self._directories.clear()
            self._since = now

    def _enter(self, directory: str) -> bool:
        """Check a directory on the path. Returns whether others may create files there, but not move existing ones."""
        known = self._directories.get(directory)
        if known is not None:
            return known
        found = os.lstat(directory)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
        self._judge_owner(directory, found, _KEEP_ELSEWHERE)
        is_sticky = bool(found.st_mode & stat.S_ISVTX)
        if not is_sticky:
            self._judge_writers(directory, found)
        is_shared = is_sticky and bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
        self._directories[directory] = is_shared
        return is_shared

    def _judge(self, path: str, found: os.stat_result) -> None:
        self._judge_owner(path, found, "chown {us} {path}")
        if not stat.S_ISCHR(found.st_mode):  # nothing is read from /dev/null
            self._judge_writers(path, found)

    def _judge_owner(self, path: str, found: os.stat_result, fix: str) -> None:
        if found.st_uid not in self._users:
            name, fix = _user(found.st_uid), fix.format(us=_user(os.geteuid()), path=_quoted(path))
            raise DistrustedError(path, f"belongs to {name}, who could change what is read", fix, name)

    def _judge_writers(self, path: str, found: os.stat_result) -> None:
        if found.st_mode & stat.S_IWOTH:
            raise DistrustedError(path, "can be written by every user", f"chmod o-w {_quoted(path)}")
        if not found.st_mode & stat.S_IWGRP:
            return
        from reactor.trust.groups import has_access_list, is_private  # noqa: PLC0415 - few inputs are of a group

        if not is_private(found.st_gid, self._users, self._groups):
            name = _group(found.st_gid)
            raise DistrustedError(
                path, f"can be written by the group {name}", f"chmod g-w {_quoted(path)}", f":{name}"
            )
        if has_access_list(path):
            reason = "has an access control list that lets others write"
            raise DistrustedError(path, reason, f"setfacl -b {_quoted(path)}")


def _refuse_planted(path: str, found: os.stat_result, *, is_shared: bool) -> None:
    """Raise DistrustedError for a hard link in a shared directory: any user may have linked a trusted file there."""
    if is_shared and found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
        reason = "has other hard links, and is in a directory where other users can create them"
        raise DistrustedError(path, reason, "replace it with a copy")


def _parts(path: str) -> list[str]:
    """The names in ``path``, the first one last."""
    return [name for name in reversed(path.split("/")) if name not in {"", "."}]


def _is_descriptor(path: str) -> bool:
    """Whether the path names an open file of a process, such as ``/dev/stdin``."""
    return path.startswith("/proc/") and path.rpartition("/")[0].endswith("/fd")


def _quoted(path: str) -> str:
    import shlex  # noqa: PLC0415 - only for a message

    return shlex.quote(path)


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    import grp  # noqa: PLC0415 - only for a message

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
