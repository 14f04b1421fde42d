"""The files that set a link, an address or a route at the next boot: each resource has files of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from reactor import Action, PathWatch
from reactor.hostfs import Attributes, ErrorContext, create_directory, remove_path
from reactor.resources import textfile
from reactor.resources.ip_networks import IPNetwork

_DIRECTORY_MODE, _FILE_MODE = 0o755, 0o644


class BootRoute(NamedTuple):
    """The parts of a route. Without a ``metric``, it has that of the kernel."""

    network: IPNetwork
    gateway: str | None
    metric: int | None
    table: int

    @property
    def file_name(self) -> str:
        """What the name of a file says of the route."""
        return f"{file_name(str(self.network))}-{self.metric or 0}-{self.table}"


def file_name(text: str) -> str:
    """An address or a network as a part of the name of a file."""
    return text.replace("/", "_").replace(":", "-")


class Base(NamedTuple):
    """The file that drop-ins belong to. Several resources share it; the last one that goes removes it."""

    path: str
    text: str


class BootFile(NamedTuple):
    """A desired file; without a ``text``, there must be none. ``base`` is the shared file that it is a drop-in of."""

    path: str
    text: str | None
    base: Base | None = None
    mode: int = _FILE_MODE
    """The permissions of a new file."""


class FoundFile(NamedTuple):
    """The present content of a desired file and of its base, and whether the base has other drop-ins."""

    wanted: BootFile
    text: str | None
    base: str | None = None
    has_others: bool = False


def watches(files: Iterable[BootFile]) -> Iterator[PathWatch]:
    """The files and their bases."""
    for file in files:
        yield PathWatch(file.path)
        if file.base is not None:
            yield PathWatch(file.base.path)


def read(files: Iterable[BootFile]) -> tuple[FoundFile, ...]:
    """The present state of the desired files. Raises ResourceError when one can't be read."""
    return tuple(map(_read, files))


def _read(wanted: BootFile) -> FoundFile:
    text = textfile.read(wanted.path)
    if wanted.base is None:
        return FoundFile(wanted, text)
    return FoundFile(wanted, text, textfile.read(wanted.base.path), bool(_others(wanted)))


def steps(files: Iterable[FoundFile]) -> Iterator[Action]:
    """One step for each file that differs."""
    for found in files:
        wanted = found.wanted
        if wanted.text is None:
            if found.text is not None or (found.base is not None and not found.has_others):
                words = f"removed {wanted.path}"
                yield Action.proven(words, partial(_remove, wanted))
        elif found.text != wanted.text:
            yield textfile.replace_step(wanted.path, wanted.text, partial(_write, wanted))
        elif wanted.base is not None and found.base != wanted.base.text:
            yield textfile.replace_step(*wanted.base, partial(_write, wanted))


def preflight(files: Iterable[FoundFile]) -> None:
    """Raise the ResourceError with which a file could not be written or removed."""
    for found in files:
        if any(steps((found,))):
            textfile.refuse_unwritable(found.wanted.path)


async def _write(wanted: BootFile) -> None:
    """Write the base first: a drop-in without it has no effect."""
    files = [wanted.base] if wanted.base is not None else []
    for path, text in (*files, (wanted.path, wanted.text or "")):
        directory = os.path.dirname(path)
        if not os.path.isdir(directory):  # noqa: ASYNC240 - a local file
            await create_directory(directory, Attributes(os.geteuid(), os.getegid(), _DIRECTORY_MODE))
        await textfile.replace(path, text, mode=wanted.mode)


async def _remove(wanted: BootFile) -> None:
    if os.path.lexists(wanted.path):  # noqa: ASYNC240 - a local file
        await remove_path(wanted.path, recursive=False)
    if wanted.base is not None and not _others(wanted):
        with ErrorContext(f"remove {wanted.base.path}"):
            for remove, path in ((os.rmdir, os.path.dirname(wanted.path)), (os.unlink, wanted.base.path)):
                with suppress(FileNotFoundError):
                    remove(path)


def _others(wanted: BootFile) -> list[str]:
    """The names of the other drop-ins of the same base file."""
    directory, own = os.path.split(wanted.path)
    try:
        return [name for name in os.listdir(directory) if name != own]
    except FileNotFoundError:
        return []
