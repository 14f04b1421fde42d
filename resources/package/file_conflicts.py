"""Finds files that a package would overwrite although they belong to another, which dpkg and rpm refuse.

The simulations of apt and dnf do not. This reads packages that are on this host already: local and downloaded ones.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from reactor import ResourceError
from reactor.resources.package.error_lines import file_conflict

RPM_CONFLICT: Final = re.compile(
    r"^\s*file (?P<file>\S+) (?:conflicts between attempted installs of .*"
    r"|from install of .*? file from package (?P<owner>\S+?)-[^-\s]+-[^-\s]+)$",
    re.MULTILINE,
)
"""The line of rpm about such a file; ``owner`` is None if both packages are new."""
_OWNERS: Final = re.compile(r"^(?!(?:local )?diversion )(\S+(?:, \S+)*): (/.*)$", re.MULTILINE)
_DIVERTED: Final = re.compile(r"^diversion by (\S+) from: (/.*)$", re.MULTILINE)
"""A path where a package has its file, and all others have theirs elsewhere."""
_CONTENT: Final = re.compile(r"^([-lh])\S+ \S+ +\S+ \S+ \S+ \.(/.+?)(?: -> .*| link to .*)?$", re.MULTILINE)
"""A file in the output of ``dpkg-deb --contents``. Several packages may contain one directory."""
_NAME: Final = re.compile(r"[^\s(:|,]+")
_PATTERN: Final = frozenset("*?[\\")
"""The characters that `dpkg-query --search` interprets in a path."""
_AT_ONCE: Final = 1000
"""The most paths in the arguments of a program."""
_ALLOWED: Final = re.compile(r"^\s*force-(?:all|overwrite)\b", re.MULTILINE)

Read = Callable[..., Awaitable[str]]
"""Runs a program; returns all its output. Raises ResourceError when it fails."""
Query = Callable[..., Awaitable[tuple[int, str]]]
"""Runs a program; returns its exit code and all its output."""


class Archive(NamedTuple):
    """A .deb file: the package, the packages whose files it may take, and the paths of its files."""

    name: str
    replaces: frozenset[str]
    paths: tuple[str, ...]


def is_overwriting_allowed(root: str) -> bool:
    """Whether dpkg is configured to overwrite files of other packages."""
    for file in (f"{root}/etc/dpkg/dpkg.cfg", *glob.glob(f"{glob.escape(root)}/etc/dpkg/dpkg.cfg.d/*")):
        with suppress(OSError), open(file, encoding="utf-8", errors="replace") as lines:
            if _ALLOWED.search(lines.read()):
                return True
    return False


def downloaded(directory: str, name: str, version: str) -> str | None:
    """The path of the .deb of this version that apt has downloaded to ``directory``; None if it has not."""
    name, _, architecture = name.partition(":")
    stem = glob.escape(f"{directory}/{name}_{version.replace(':', '%3a')}_")
    return next(iter(glob.glob(f"{stem}{architecture or '*'}.deb")), None)


async def refuse_overwriting(
    files: Sequence[str],
    leaving: Collection[str],
    is_installed: Callable[[str], bool],
    read: Read,
    query: Query,
) -> None:
    """Raise ResourceError if one of the .deb ``files`` has a file of an installed package, or of another one of them.

    ``leaving`` are packages that go, or whose files are replaced, in the same transaction.
    """
    archives = [await _archive(file, read) for file in files]
    new: dict[str, Archive] = {}
    for archive in archives:
        for path in archive.paths:
            other = new.setdefault(path, archive)
            if other is not archive and not (
                {other.name} & archive.replaces or {archive.name} & other.replaces
            ):
                raise _refusal(archive.name, path, other.name)
    gone = {name.partition(":")[0] for name in leaving}
    for path, owners, diverting in await _owners(list(new), query):
        archive = new[path]
        if diverting in {*owners, archive.name}:
            continue
        for owner in owners - gone - archive.replaces - {archive.name}:
            if is_installed(owner):
                raise _refusal(archive.name, path, owner)


def _refusal(name: str, path: str, owner: str) -> ResourceError:
    return ResourceError(
        f"can't install {name}: it would overwrite {path}, which is also in package {owner}",
        file_conflict(path, owner),
    )


async def _archive(file: str, read: Read) -> Archive:
    form = r"${Package}\t${Replaces}\n"
    fields = await read("dpkg-deb", "--show", "--showformat", form, file)
    name, _, replaces = fields.strip("\n").rpartition("\n")[2].partition("\t")
    found = (_NAME.match(each.strip()) for each in replaces.split(","))
    contents = await read("dpkg-deb", "--contents", file)
    return Archive(name, frozenset(each[0] for each in found if each), tuple(_paths(contents)))


def _paths(contents: str) -> Iterator[str]:
    """The paths of files and links. A link in the place of a directory is ignored: dpkg treats them as one."""
    for kind, path in _CONTENT.findall(contents):
        if _PATTERN.isdisjoint(path) and not (kind == "l" and os.path.isdir(path)):
            yield path


async def _owners(paths: Sequence[str], query: Query) -> list[tuple[str, set[str], str | None]]:
    """The packages that own each of ``paths``, with the one that diverts it for itself. Paths without are left out."""
    found: list[tuple[str, set[str], str | None]] = []
    for first in range(0, len(paths), _AT_ONCE):
        _, text = await query("dpkg-query", "--search", *paths[first : first + _AT_ONCE])
        diverted = {path: name for name, path in _DIVERTED.findall(text)}
        found += [
            (path, set(_stems(names.split(", "))), diverted.get(path))
            for names, path in _OWNERS.findall(text)
        ]
    return found


def _stems(names: Iterable[str]) -> Iterator[str]:
    return (name.partition(":")[0] for name in names)
