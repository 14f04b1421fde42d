"""What is done to the archive at its path, besides putting it there: giving it to somebody, and removing it."""

from __future__ import annotations

import os
from contextlib import suppress

from reactor import in_thread
from reactor.hostfs import (
    Attributes,
    Explaining,
    Parent,
    PreviousContent,
    Source,
    flush_directory,
    is_litter,
    set_attributes,
    store,
)
from reactor.resources.archive import staging
from reactor.resources.archive.staging import staging_path
from reactor.resources.archive.state import Desired
from reactor.resources.download.download_origin import Origin
from reactor.resources.download.partial_download import partial_path

MODE = 0o640
"""Of an archive: nobody but its owner and its group needs to read it, and it may have been got with a password."""


async def give(path: str, owner: tuple[int, int]) -> None:
    """Let the archive at ``path``, which only we can write to, belong to ``owner``."""
    await set_attributes(path, Attributes(*owner, MODE))


async def give_anew(path: str, owner: tuple[int, int]) -> None:
    """The same for one that others may have open for writing: a new file takes its place."""
    await store(path, Source(path), Attributes(*owner, MODE))


async def remove(desired: Desired) -> None:
    """Remove the archive; what it held is kept, as of any file that goes for good."""
    with (
        Explaining(f"remove {desired.path}"),
        Parent(desired.path) as (directory, base),
        PreviousContent(desired.path, desired.ref, directory, base) as former,
    ):
        await _unlink(directory, base)
        await former.keep()
        Origin.forget(desired.path)


async def clean_up(desired: Desired) -> None:
    """Remove the archive, which has been unpacked and can be fetched again."""
    with Explaining(f"remove {desired.path}"), Parent(desired.path) as (directory, base):
        await _unlink(directory, base)


async def tidy(desired: Desired) -> None:
    """Remove what an interrupted run left and nobody will go on with."""
    with Explaining(f"remove what an interrupted run left of {desired.path}"):
        with Parent(partial_path(desired.path)) as (directory, base):
            if is_litter(base, os.geteuid(), directory):
                os.unlink(base, dir_fd=directory)
        if desired.extract_parent is not None and desired.ensure == "absent":
            with suppress(FileNotFoundError):
                await in_thread(staging.discard, staging_path(desired.extract_parent, desired.path))


async def _unlink(directory: int, base: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(base, dir_fd=directory)
    await flush_directory(directory)
