"""Moves what was unpacked to where it belongs. No link that is there is followed, and no directory is replaced."""

from __future__ import annotations

import os
import stat

from reactor import ResourceError
from resources.archive.directory import opened_directory


def move_in(staged: str, target: str) -> None:
    """Move all that is in the directory ``staged`` into ``target``, on the same file system.

    Directories that are there already stay, with what else is in them; files and links are replaced, each in one step.
    Raises ResourceError where the two do not fit together; then nothing was moved.
    """
    with opened_directory(staged) as source, opened_directory(target, follow=True) as goal:
        _merge(source, goal, target, act=False)
        _merge(source, goal, target, act=True)


def _merge(source: int, goal: int, way: str, *, act: bool) -> None:
    for name in os.listdir(source):
        here = f"{way}/{name}"
        comes = os.stat(name, dir_fd=source, follow_symlinks=False)
        there = _found(goal, name)
        if there is not None and stat.S_ISDIR(comes.st_mode):
            if not stat.S_ISDIR(there.st_mode):
                words = f"the archive holds the directory {here}, and something else is there"
                raise ResourceError(
                    words, "remove it first: no link is followed, and nothing is replaced by a directory"
                )
            with opened_directory(name, source) as below, opened_directory(name, goal) as goal_below:
                _merge(below, goal_below, here, act=act)
        elif there is not None and stat.S_ISDIR(there.st_mode):
            words = f"the archive holds {here} as a file or a link, and a directory is there"
            raise ResourceError(words, "remove it first: directories are not replaced")
        elif act:
            os.rename(name, name, src_dir_fd=source, dst_dir_fd=goal)


def _found(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
