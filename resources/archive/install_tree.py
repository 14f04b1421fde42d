"""Moves what was unpacked to where it belongs. No link that is there is followed, and no directory is replaced."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection

from reactor import ResourceError, read_mounts
from reactor.hostfs import Explaining
from reactor.resources.archive.directory import opened_directory


def move_in(staged: str, target: str, handle: int) -> None:
    """Move all that is in the directory ``staged`` into ``target``, on the same file system.

    ``handle`` is of the directory ``target``, which is only what people call it: by now the path may lead elsewhere.
    Directories that are there already stay, with what else is in them; files and links are replaced, each in one step.
    Raises ResourceError where the two do not fit together; then nothing was moved.
    """
    points = frozenset(mount.point for mount in read_mounts())
    with opened_directory(staged) as source, opened_directory(".", handle) as goal:
        _merge(source, goal, target, points, act=False)
        _merge(source, goal, target, points, act=True)


def _merge(source: int, goal: int, way: str, points: Collection[str], *, act: bool) -> None:
    for name in os.listdir(source):
        here = f"{way}/{name}"
        comes = os.stat(name, dir_fd=source, follow_symlinks=False)
        there = _found(goal, name)
        if there is not None and _is_apart(goal, name, there, points):
            words = f"the archive holds {here}, and there another file system begins, to which nothing can be moved"
            raise ResourceError(words, "unpack what belongs there with an archive of its own")
        if there is not None and stat.S_ISDIR(comes.st_mode):
            if not stat.S_ISDIR(there.st_mode):
                words = f"the archive holds the directory {here}, and something else is there"
                raise ResourceError(
                    words, "remove it first: no link is followed, and nothing is replaced by a directory"
                )
            with opened_directory(name, source) as below, opened_directory(name, goal) as goal_below:
                _merge(below, goal_below, here, points, act=act)
        elif there is not None and stat.S_ISDIR(there.st_mode):
            words = f"the archive holds {here} as a file or a link, and a directory is there"
            raise ResourceError(words, "remove it first: directories are not replaced")
        elif act:
            with Explaining(f"put {here} in its place"):
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=goal)


def _is_apart(goal: int, name: str, there: os.stat_result, points: Collection[str]) -> bool:
    """Whether something is mounted there, or it is a subvolume. Of files, overlayfs gives devices that mean nothing."""
    is_other = stat.S_ISDIR(there.st_mode) and there.st_dev != os.fstat(goal).st_dev
    return is_other or os.path.join(os.readlink(f"/proc/self/fd/{goal}"), name) in points


def _found(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
