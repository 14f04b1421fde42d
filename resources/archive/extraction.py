"""Unpacks an archive: into a staging directory, in a thread, and then to where it belongs."""

from __future__ import annotations

import os
from collections.abc import Callable

import trio

from reactor import ResourceError, UnpackingError, emit_output, in_thread, size_in_words, unpack
from reactor.hostfs import Explaining, Parent, sync_file_system
from reactor.resources.archive import staging
from reactor.resources.archive.content import Expected, verified
from reactor.resources.archive.directory import opened_directory
from reactor.resources.archive.install_tree import move_in
from reactor.resources.archive.observer import exists
from reactor.resources.archive.state import Desired
from reactor.resources.download.progress import Progress


async def extract(desired: Desired, owner: tuple[int, int], expected: Expected) -> None:
    """Unpack the archive, which is ``expected``, into its ``extract_parent``; what comes out belongs to ``owner`` (ids).

    Until all of it is there and on the disk, it is owed. Raises ResourceError, and then nothing of a bad archive is there.
    """
    parent = desired.extract_parent or ""
    with Explaining(f"unpack {desired.path} into {parent}"):
        await in_thread(_extract, desired, parent, owner, expected.checksum)
        if desired.creates is not None and not exists(desired.creates):
            words = f"{desired.path} is unpacked, and {desired.creates} is still missing: nothing in it has that name"
            raise ResourceError(words, "correct creates or extract_parent")


def _extract(desired: Desired, parent: str, owner: tuple[int, int], checksum: str | None) -> None:
    """All is done through one handle of the directory: whoever owns what it is in may replace it meanwhile."""
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
                raise ResourceError(words, error.hint or "nothing of it was put in place") from error
            move_in(tree, parent, goal)
        with opened_directory(".", goal) as directory:
            sync_file_system(directory)
        os.rmdir(base, dir_fd=goal)


def _reporter() -> Callable[[object, int], None]:
    """What is called with each piece of a member: tells people, and ends the work when the check is cancelled."""
    progress = Progress(lambda line: trio.from_thread.run_sync(emit_output, line))

    def report(_member: object, written: int) -> None:
        trio.from_thread.check_cancelled()
        progress(lambda: f"unpacked {size_in_words(written)}")

    return report
