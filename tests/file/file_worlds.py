"""What the tests of the file kind share: short ways to build resources, converge them and look at the world."""

import os
import stat
from pathlib import Path
from typing import Any

from reactor.engine.events import Cause, Result
from reactor.resource.plan import Plan
from reactor.resources.file import File
from reactor.testing.story import Story

ME = str(os.geteuid())
MY_GROUP = str(os.getegid())


def make(path: Path | str, **properties: Any) -> File:
    """A file resource: present, ours and 0644 unless told otherwise."""
    defaults = {"ensure": "present", "owner": ME, "group": MY_GROUP, "mode": "0644"}
    return File(name=str(path), **{**defaults, **properties})


async def look(file: File) -> Plan:
    return file.plan(await file.observe(), refresh=False)


async def converge(file: File) -> list[str]:
    """Run the plan, verify, and return what was done."""
    plan = await look(file)
    for action in plan:
        await action.run()
    assert await file.verify() == ()
    return [action.did for action in plan]


def repairs(story: Story, path: Path) -> int:
    """How often the file was repaired after drift."""
    checks = story.checks(f"file#{path}")
    return sum(each.result is Result.CHANGED and Cause.DRIFT in each.causes for each in checks)


def names_in(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def picture(root: Path) -> dict[str, tuple[Any, ...]]:
    """All there is to know about a tree: whatever changes in it changes this."""
    return {str(path): _details(path) for path in [root, *sorted(root.rglob("*"))]}


def _details(path: Path) -> tuple[Any, ...]:
    found = path.lstat()
    body: Any = None
    if stat.S_ISREG(found.st_mode) and os.access(path, os.R_OK):
        body = path.read_bytes()
    elif stat.S_ISLNK(found.st_mode):
        body = path.readlink()
    return found.st_mode, found.st_ino, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_ctime_ns, body
