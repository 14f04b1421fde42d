"""Finds the directories because of which sshd(8) ignores a file of keys: StrictModes of sshd_config(5)."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from reactor import ResourceError
from reactor.hostfs import ErrorContext, names_of, open_directory

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_HINT = "or set strict_modes: false, if sshd_config says StrictModes no"


def is_safe(status: os.stat_result, uid: int) -> bool:
    """Whether only root and the user ``uid`` can write to the file or directory of this stat."""
    return status.st_uid in (0, uid) and not status.st_mode & _OTHERS


def refuse_exposed(path: str, home: str, uid: int, but: str | None = None) -> None:
    """Raise ResourceError for the first directory above ``path`` that others may write; ``but`` is not examined.

    As in sshd, nothing above the home directory matters.
    """
    here = os.path.dirname(path)
    stop = None
    with suppress(OSError):  # the home may be missing where the keys are elsewhere
        stop = os.stat(home)
    while True:
        status = None if here == but else _refuse(here, uid)
        if here in ("/", home) or (status and stop and os.path.samestat(status, stop)):
            return
        here = os.path.dirname(here)


def _refuse(directory: str, uid: int) -> os.stat_result:
    with ErrorContext(f"inspect {directory}"):
        handle = open_directory(directory)
        try:
            status = os.fstat(handle)
        finally:
            os.close(handle)
    if is_safe(status, uid):
        return status
    owner, user = names_of(status.st_uid, 0)[0], names_of(uid, 0)[0]
    if status.st_uid not in (0, uid):
        words = f"sshd ignores the keys of {user}: {directory} belongs to {owner}"
        raise ResourceError(words, f"chown {user} {directory}, {_HINT}", missing=directory)
    words = f"sshd ignores the keys of {user}: others may write in {directory} (mode {stat.S_IMODE(status.st_mode):04o})"
    raise ResourceError(words, f"chmod go-w {directory}, {_HINT}", missing=directory)
