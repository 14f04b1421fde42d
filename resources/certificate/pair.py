"""Keeps a key and its certificate as one pair in a directory.

Each pair is a directory of its own, a generation. The symlink ``current`` leads to one of them, and ``key.pem``,
``cert.pem`` and so on lead through ``current``. So one rename of ``current`` replaces all files at once: a reader, and
a run that is killed, sees the old pair or the new one.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import NamedTuple

from reactor import ResourceError
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    Inline,
    LinkOwner,
    Parent,
    create_directory,
    is_temporary_name,
    names_of,
    open_content,
    open_path,
    others_may_write,
    read,
    remove_path,
    set_attributes,
    write_file,
    write_link,
)
from reactor.resources.trusted_directory import is_replaceable

CURRENT = "current"
KEY, CERTIFICATE, CHAIN, REQUEST = "key.pem", "cert.pem", "chain.pem", "request.pem"
FULL_CHAIN, COMBINED = "fullchain.pem", "combined.pem"
SECRET_FILES = frozenset((KEY, COMBINED))
FILES = (KEY, CERTIFICATE, CHAIN, FULL_CHAIN, COMBINED, REQUEST)
_GENERATION = re.compile(r"pair-[0-9a-f]{16}")
_LARGEST = 1 << 20
_DIRECTORY_MODE = 0o755
_PUBLIC_MODE = 0o644


class Place(Enum):
    """The type of file at the path of the resource. The value is the end of a sentence."""

    NOTHING = "nothing"
    OURS = "a directory of certificates"
    OTHER = "a directory with other files in it"
    FILE = "not a directory"


class Pair(NamedTuple):
    """The content of the directory: the files of the current generation, and the faults around them."""

    place: Place
    files: Mapping[str, bytes] = {}
    attributes: Mapping[str, Attributes] = {}
    links: tuple[str, ...] = ()
    """The names that lead through ``current``."""
    generation: str = ""
    stale: tuple[str, ...] = ()
    """Generations that are not the current one, and temporary names."""


def read_pair(path: str) -> Pair:
    """Read the directory ``path``. Raises OSError, and ResourceError when others can change it."""
    try:
        fd = open_path(path)
    except (FileNotFoundError, NotADirectoryError):
        _refuse_way(path)
        return Pair(Place.NOTHING)
    try:
        found = os.fstat(fd)
        if not stat.S_ISDIR(found.st_mode):
            return Pair(Place.FILE)
        if others_may_write(found, fd):
            owner = names_of(found.st_uid, 0)[0]
            words = (
                f"{path} belongs to {owner}, or other users may write to it, and it is to hold a private key"
            )
            raise ResourceError(words, f"chown root and chmod go-w, or remove it: {path}")
        names = os.listdir(f"/proc/self/fd/{fd}")  # only now: another user could fill the directory
        if not all(map(_is_ours, names)):
            return Pair(Place.OTHER)
        _refuse_way(path)
        return _read(path, fd, names)
    finally:
        os.close(fd)


def _refuse_way(path: str) -> None:
    if is_replaceable(path):
        words = f"other users may replace {path}, or a directory above it, and it is to hold a private key"
        raise ResourceError(words, "choose a directory of root, such as one in /etc/ssl")


def _is_ours(name: str) -> bool:
    return name == CURRENT or name in FILES or bool(_GENERATION.fullmatch(name)) or is_temporary_name(name)


def _read(path: str, directory: int, names: list[str]) -> Pair:
    generation = _link_at(directory, CURRENT)
    if not _GENERATION.fullmatch(generation) or generation not in names:
        generation = ""
    files: dict[str, bytes] = {}
    attributes: dict[str, Attributes] = {}
    for name in FILES if generation else ():
        if (content := _file_at(f"{path}/{generation}/{name}")) is not None:
            files[name], attributes[name] = content
    links = tuple(name for name in FILES if _link_at(directory, name) == f"{CURRENT}/{name}")
    kept = {CURRENT, generation, *FILES}
    return Pair(
        Place.OURS, files, attributes, links, generation, tuple(sorted(n for n in names if n not in kept))
    )


def _link_at(directory: int, name: str) -> str:
    try:
        return os.readlink(name, dir_fd=directory)
    except OSError:
        return ""


def _file_at(path: str) -> tuple[bytes, Attributes] | None:
    try:
        fd = open_content(path)
    except (FileNotFoundError, NotADirectoryError, ResourceError):
        return None
    except OSError as error:
        if error.filename is None or not os.path.islink(path):
            raise
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            return None
        content = bytes(read(fd, found.st_size))
        return content, Attributes(found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))
    finally:
        os.close(fd)


def wanted_attributes(name: str, key: Attributes) -> Attributes:
    """The attributes of a file of a pair, whose key has the attributes ``key``."""
    return key if name in SECRET_FILES else Attributes(key.uid, key.gid, _PUBLIC_MODE)


async def store_pair(path: str, files: Mapping[str, bytes], key: Attributes, former: Pair) -> None:
    """Store the pair ``files`` as the current one, and remove the replaced one. Raises ResourceError."""
    if former.place is Place.NOTHING:
        with ErrorContext(f"write {path}"), Parent(path):
            pass  # the directory above must be there
        await create_directory(path, Attributes(os.geteuid(), os.getegid(), _DIRECTORY_MODE))
    with ErrorContext(f"inspect {path}"):
        read_pair(path)  # another user may have made the directory above since the last look
    generation = f"pair-{secrets.token_hex(8)}"
    below = f"{path}/{generation}"
    await create_directory(below, Attributes(os.geteuid(), os.getegid(), _DIRECTORY_MODE))
    for name, content in files.items():
        await write_file(f"{below}/{name}", Inline(content), wanted_attributes(name, key))
    await write_link(f"{path}/{CURRENT}", generation, LinkOwner(), replaces_all=True)
    await set_links(path, files)
    await remove_others(path, [*former.stale, *([former.generation] if former.generation else [])])


async def set_links(path: str, names: Mapping[str, bytes]) -> None:
    """Make each name lead through ``current``, and remove those without a file. Raises ResourceError."""
    for name in FILES:
        if name in names:
            await write_link(f"{path}/{name}", f"{CURRENT}/{name}", LinkOwner(), replaces_all=True)
        elif os.path.lexists(f"{path}/{name}"):  # noqa: ASYNC240 - a directory of ours
            await remove_path(f"{path}/{name}", recursive=True)


async def remove_others(path: str, names: list[str]) -> None:
    """Remove earlier generations, and files that killed runs left. Raises ResourceError."""
    for name in names:
        await remove_path(f"{path}/{name}", recursive=True)


async def set_pair_attributes(path: str, generation: str, wanted: Mapping[str, Attributes]) -> None:
    """Set owner, group and mode of files of the current pair. Raises ResourceError."""
    for name, attributes in wanted.items():
        await set_attributes(f"{path}/{generation}/{name}", attributes)


remove_all = partial(remove_path, recursive=True)
"""Remove the directory with everything in it."""
