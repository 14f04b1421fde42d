"""Refuses submodules in which other users could make git run their commands with our rights."""

from __future__ import annotations

import os
import stat

from reactor.hostfs import ErrorContext
from reactor.resources.git.program import Program, unquoted
from reactor.resources.git.state import Found
from reactor.resources.git.trust import look
from reactor.resources.process import has_our_rights, uid_of
from reactor.resources.trusted_directory import refuse_other_owner

_GITLINK = "160000 "


async def refuse_foreign_modules(git: Program, path: str) -> None:
    """Raise ResourceError if git runs as root or our own user, and would obey another user in a submodule of ``path``.

    git starts a process in each submodule, at any depth. That one obeys the settings there, whoever wrote them.
    """
    identity = await git.identity()
    uid = uid_of(identity)
    pending = [path] if has_our_rights(uid) else []
    while pending:
        top = pending.pop()
        lines = await git.lines(top, "ls-files", "--stage")
        for line in (each for each in lines if each.startswith(_GITLINK)):
            module = f"{top}/{unquoted(line.partition(chr(9))[2])}"
            if _is_populated(module, uid):
                pending.append(module)


def _is_populated(module: str, uid: int) -> bool:
    """Whether there is a repository in the directory. Raises ResourceError when others could change it."""
    with ErrorContext(f"inspect {module}"):
        found = look(module, uid, None).found
        if found is not Found.LINKED:
            return found is Found.CHECKOUT
        link = os.lstat(f"{module}/.git")  # a file, which leads into the directory .git of the checkout
        refuse_other_owner(f"{module}/.git", link, uid)
        return stat.S_ISREG(link.st_mode)
