"""Facts that users and programs write into files. Skips files that untrusted users could change."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from reactor.data.layers import deep_merge
from reactor.resource.diagnostic import ManifestError
from reactor.trust.rule import DistrustedError, Trust

Parse = Callable[[str, str], dict[str, Any]]
"""Parses the text of a file to a map; the second argument is its name for messages. Raises ManifestError."""

MAX_BYTES = 16 * 1024 * 1024

_ALONE = ("facts.json", "facts.yaml")
_DIRECTORY = "facts.d"
_SUFFIXES = (".json", ".yaml")
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def directories() -> tuple[str, ...]:
    """Return the directories of fact files, lowest priority first: for the system, then the user; CCM's, then ours."""
    home = os.path.expanduser("~/.config")
    user = os.environ.get("XDG_CONFIG_HOME") or home
    return ("/etc/choria/ccm", "/etc/reactor", f"{user}/choria/ccm", f"{user}/reactor")


@dataclass(eq=False, repr=False)
class FileFacts:
    """The merged facts of all files, the reason for each file that was skipped, and the paths found in facts.d."""

    values: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)


class _SkippedError(Exception):
    """A file exists but must not be used."""


def read_fact_files(where: Iterable[str], parse: Parse) -> FileFacts:
    """Merge the fact files of these directories deeply. Later files override earlier ones.

    The order in each directory is: facts.json, facts.yaml, then the .json and .yaml files of facts.d by name. Missing
    files are ignored. Files that can't be used are skipped with a note.
    """
    found = FileFacts()
    for directory in where:
        if not os.path.isabs(directory):
            found.notes[directory] = "the directory is skipped: its path is not absolute"
            continue
        for path in _candidates(directory, found):
            try:
                found.values = deep_merge(found.values, parse(_content(path), path))
            except FileNotFoundError:
                continue
            except ManifestError as error:
                first = error.diagnostics[0]
                found.notes[str(first.place or path)] = f"the file is skipped: {first.message}"
            except DistrustedError as error:
                found.notes[path] = f"the file is skipped: {error}; {error.fix}"
            except (OSError, ValueError, _SkippedError) as error:
                found.notes[path] = f"the file is skipped: {error}"
    return found


def fact_paths(where: Sequence[str], found: FileFacts) -> list[str]:
    """Return all paths to watch: a change there may change facts. Reads nothing: a directory may not answer."""
    usable = [directory for directory in where if os.path.isabs(directory)]
    fixed = [os.path.join(directory, name) for directory in usable for name in (*_ALONE, _DIRECTORY)]
    return [*fixed, *found.listed]


def _candidates(directory: str, found: FileFacts) -> Iterator[str]:
    yield from (os.path.join(directory, name) for name in _ALONE)
    below = os.path.join(directory, _DIRECTORY)
    if os.path.islink(below):
        found.notes[below] = "the directory is skipped: it is a symbolic link"
        return
    entries = [*_entries(below)]
    found.listed += entries
    yield from entries


def _entries(directory: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        path = os.path.join(directory, name)
        if name.lower().endswith(_SUFFIXES) and not (os.path.isdir(path) and not os.path.islink(path)):
            yield path


def _content(path: str) -> str:
    """Return the text of a fact file. Raises for an untrusted file; checks the opened file, not its name.

    The user did not choose this file, so only root and our own user may be able to change or replace it.
    """
    with open(path, "rb", opener=_opened) as file:
        _check(os.fstat(file.fileno()))
        Trust().require_file(path)
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise _SkippedError(f"it is larger than {MAX_BYTES // 2**20} MiB")
    return content.decode("utf-8-sig")


def _opened(path: str, _flags: int) -> int:
    try:
        return os.open(path, _OPEN)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _SkippedError("it is a symbolic link") from error
        raise


def _check(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _SkippedError("it is not a regular file")
    if os.geteuid() == 0 and (found.st_uid != 0 or found.st_mode & _WRITABLE_BY_OTHERS):
        raise _SkippedError("for root, a fact file must belong to root and be writable by root alone")
