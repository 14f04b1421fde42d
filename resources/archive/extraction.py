"""Unpacks an archive into a staging directory, in a thread, and moves the content to its place."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection

import trio

from reactor import ResourceError, UnpackingError, emit_output, in_thread, read_mounts, size_in_words, unpack
from reactor.hostfs import ErrorContext, Parent, sync_file_system
from reactor.resources.archive import staging
from reactor.resources.archive.archive_file import Expected, verified
from reactor.resources.archive.last_unpacking import record_unpacking
from reactor.resources.archive.observer import exists
from reactor.resources.archive.staging import opened_directory
from reactor.resources.archive.state import Desired
from reactor.resources.download.fetching import Progress


async def extract(desired: Desired, owner: tuple[int, int], expected: Expected) -> None:
    """Unpack the ``expected`` archive into its ``extract_parent``; the content belongs to ``owner`` (ids).

    The unpacking stays noted as due until everything is on the disk. Raises ResourceError for a bad archive, of which
    nothing is put in place.
    """
    parent = desired.extract_parent or ""
    with ErrorContext(f"unpack {desired.path} into {parent}"):
        await in_thread(_extract, desired, parent, owner, expected.checksum)
        if desired.creates is not None and not exists(desired.creates):
            words = f"{desired.path} is unpacked, and {desired.creates} is still missing: nothing in it has that name"
            raise ResourceError(words, "correct creates or extract_parent")


def _extract(desired: Desired, parent: str, owner: tuple[int, int], checksum: str | None) -> None:
    """Extract through one handle of the directory, since the owner of its parent may replace it at any time."""
    path = staging.make(parent, desired.path, owner)
    with Parent(path) as (goal, base):
        most = desired.source.max_size
        with (
            staging.staged(path, goal) as (tree, ours),
            verified(desired.path, checksum, ours, most) as archive,
        ):
            try:
                unpack(
                    archive,
                    tree,
                    desired.format,
                    limits=desired.limits,
                    owner=owner,
                    report=_reporter(),
                    strip=desired.strip,
                    single=desired.single,
                )
            except UnpackingError as error:
                words = f"cannot unpack {desired.path}: {error.message}"
                hint = f"if you trust it, raise max_{error.limit}" if error.limit else error.hint
                raise ResourceError(words, hint or "nothing of it was put in place") from error
            move_in(tree, parent, goal)
        with opened_directory(".", goal) as directory:
            sync_file_system(directory)
        record_unpacking(desired, checksum)
        os.rmdir(base, dir_fd=goal)


def _reporter() -> Callable[[object, int], None]:
    """A callback for each piece of a member. It reports progress, and raises when the check was cancelled."""
    progress = Progress(lambda line: trio.from_thread.run_sync(emit_output, line))

    last: object = None
    count = 0

    def report(member: object, written: int) -> None:
        nonlocal last, count
        trio.from_thread.check_cancelled()
        if member is not last:
            last, count = member, count + 1
        progress(lambda: f"unpacked {size_in_words(written)}, {count} members")

    return report


def move_in(staged: str, target: str, handle: int) -> None:
    """Move everything in the directory ``staged`` into ``target``, on the same file system.

    ``handle`` is the handle of ``target``; the path is for messages only, since it may lead elsewhere by now. Existing
    directories stay, with their other content; files and links are replaced atomically. Raises ResourceError, and then
    moves nothing, if an entry can't replace the existing one.
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
            words = (
                f"the archive holds {here}, where another file system is mounted: nothing can be moved to it"
            )
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
            with ErrorContext(f"put {here} in its place"):
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=goal)


def _is_apart(goal: int, name: str, there: os.stat_result, points: Collection[str]) -> bool:
    """Whether the entry is a mount point or a subvolume. The device numbers of files are meaningless on overlayfs."""
    is_other = stat.S_ISDIR(there.st_mode) and there.st_dev != os.fstat(goal).st_dev
    return is_other or os.path.join(os.readlink(f"/proc/self/fd/{goal}"), name) in points


def _found(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
