"""Creates the home directory of a user who exists, with the files of /etc/skel, as useradd(8) does for a new one."""

from __future__ import annotations

import os
import shutil

from reactor import ResourceError, fragile_mounts, in_thread
from reactor.hostfs import ErrorContext
from reactor.resources.accounts.database import LOGIN_DEFS, PasswdLine, find_user
from reactor.resources.accounts.homes import refuse_exposed

_SKELETON = "/etc/skel"
_USUAL_UMASK = 0o022


async def lacks_home(home: str) -> bool:
    """Whether there is nothing at ``home``. Raises ResourceError if others may redirect its path, or it has no parent."""
    await fragile_mounts().ask(home)
    if os.path.lexists(home):  # noqa: ASYNC240 - its mount has just answered
        return False
    refuse_exposed(home)
    parent = os.path.dirname(home)
    if not os.path.isdir(parent):  # noqa: ASYNC240
        hint = f"declare file#{parent} with ensure: directory"
        raise ResourceError(f"can't create the home {home}: {parent} does not exist", hint, missing=parent)
    return True


async def create_home(home: str, user: str) -> None:
    """Create ``home`` for ``user``. It appears as a whole. Raises ResourceError when it can't be created."""
    account = find_user(user)  # an earlier step may have changed its ids
    if account is None:
        raise ResourceError(f"there is no user {user} any more")
    with ErrorContext(f"create the home {home}"):
        await in_thread(_create, home, account)


def _create(home: str, account: PasswdLine) -> None:
    """Blocking. Other users can't redirect the path, and ours is the only name with this prefix in the directory."""
    parent, base = os.path.split(home)
    new = os.path.join(parent, f".{base}.new.reactor")
    shutil.rmtree(new, ignore_errors=True)  # of a run that was killed
    try:
        if os.path.isdir(_SKELETON):
            shutil.copytree(_SKELETON, new, symlinks=True)
        else:
            os.mkdir(new)
        os.chmod(new, 0o700)  # the user must not get in while root follows the paths in it
        for directory, directories, files in os.walk(new):  # links to directories are among the directories
            for name in (*directories, *files):
                os.chown(os.path.join(directory, name), account.uid, account.gid, follow_symlinks=False)
        os.chown(new, account.uid, account.gid)
        os.chmod(new, _home_mode())
        os.rename(new, home)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _home_mode() -> int:
    """The mode that login.defs(5) asks for."""
    found = {}
    try:
        with open(LOGIN_DEFS, encoding="utf-8", errors="replace") as lines:
            found = {words[0]: words[1] for line in lines if len(words := line.split()) > 1}
    except OSError:
        pass
    try:
        if "HOME_MODE" in found:
            return int(found["HOME_MODE"], 8) & 0o777
        return 0o777 & ~int(found.get("UMASK", ""), 8)
    except ValueError:
        return 0o777 & ~_USUAL_UMASK
