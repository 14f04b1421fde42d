"""Names temporary files, and tells stale ones, which a killed run left behind, from those in use.

A temporary file is named ``.<basename>.<random>.reactor``, so that programs that read every ``*.conf`` of a directory
ignore it. With a validator, which may insist on the suffix, it is ``.<stem>.<random>.reactor<suffix>``. Its writer holds a
flock(2) on it, also in another container. A temporary file without the lock is stale.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from random import getrandbits

import trio

from reactor.hostfs.safe_open import open_path
from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread

_NAME = re.compile(r"\.(.+)\.[0-9a-f]{12}\.reactor(\.[^.]*)?", re.DOTALL)
_LONGEST_BASE = 200
_LONGEST_SUFFIX = 100
"""Bytes. A file name has at most 255."""
_SURELY_SHORT = _LONGEST_BASE // 4
"""Characters, each of at most four bytes."""

_AT_ONCE = 2000
"""Directory entries that are read without a thread; they take one millisecond."""

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Listing = dict[str, list[str]]
"""The names of the temporary files in one directory, by the shortened name of their target."""

_listings: trio.lowlevel.RunVar[dict[str, Listing]] = trio.lowlevel.RunVar("listings")


def temporary_name(base: str, *, same_suffix: bool = False) -> str:
    """A new name for a temporary file that will be renamed to ``base``."""
    random = f"{getrandbits(48):012x}"  # not a secret: open(2) with O_EXCL makes sure that the name is new
    if not same_suffix and len(base) <= _SURELY_SHORT:
        return f".{base}.{random}.reactor"
    stem, suffix = _shortened(base)
    return f".{stem}.{random}.reactor{suffix}" if same_suffix else f".{stem}{suffix}.{random}.reactor"


def lock_temporary(fd: int) -> bool:
    """Lock the temporary file at ``fd`` until it is closed; False when another process has the lock.

    The lock is shared, so that another descriptor of the writer can take it over without a gap.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.ENOLCK  # a file system without locks: no process takes it for stale
    return True


async def find_stale_temporaries(directory: str, base: str, uid: int) -> tuple[str, ...]:
    """The names of the stale temporary files for ``base`` in ``directory``.

    They belong to us or to ``uid``: a temporary file gets its owner before it is renamed. Each directory is listed only once
    in a run.
    """
    listings = _known_listings()
    if (listing := listings.get(directory)) is None:
        listing = listings[directory] = await _listed(directory)
    if not listing or (names := listing.get("".join(_shortened(base)))) is None:
        return ()
    names[:] = _still_there(directory, names)
    return tuple(name for name in names if is_stale_temporary(f"{directory}/{name}", uid))


def _still_there(directory: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if os.path.lexists(f"{directory}/{name}")]


async def _listed(directory: str) -> Listing:
    """The temporary files in ``directory``. A thread lists a large directory: 100,000 names take 50 ms."""
    listing: Listing = {}
    is_whole = True
    with suppress(OSError), os.scandir(directory) as entries:  # the check of the file meets the error again
        _collect([entry.name for entry in islice(entries, _AT_ONCE)], listing)
        is_whole = next(entries, None) is None
    return listing if is_whole else await in_thread(_list, directory)


def is_stale_temporary(path: str, uid: int, directory: int | None = None) -> bool:
    """Whether the temporary file at ``path`` belongs to us or to ``uid``, and no living process writes it.

    ``path`` is absolute, or a name in the directory open at ``directory``.
    """
    try:
        fd = open_path(path, _OPEN) if directory is None else os.open(path, _OPEN, dir_fd=directory)
    except (OSError, ResourceError):
        return False
    try:
        found = os.fstat(fd)
        ours = stat.S_ISREG(found.st_mode) and found.st_uid in (os.geteuid(), uid)
        if ours:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return ours


def _list(directory: str) -> Listing:
    listing: Listing = {}
    with suppress(OSError):
        _collect(os.listdir(directory), listing)
    return listing


def _collect(names: Iterable[str], listing: Listing) -> None:
    for name in names:
        if ".reactor" in name and (match := _NAME.fullmatch(name)):
            listing.setdefault(match[1] + (match[2] or ""), []).append(name)


def _known_listings() -> dict[str, Listing]:
    try:
        return _listings.get()
    except LookupError:
        listings: dict[str, Listing] = {}
        _listings.set(listings)
        return listings


def _shortened(base: str) -> tuple[str, str]:
    """The stem and the suffix of ``base``; a digest as the stem if the name would be too long."""
    stem, suffix = os.path.splitext(base)
    encoded = os.fsencode(base)
    if len(encoded) > _LONGEST_BASE:
        stem = blake2b(encoded, digest_size=16).hexdigest()
        suffix = suffix if len(os.fsencode(suffix)) <= _LONGEST_SUFFIX else ""
    return stem, suffix


def is_temporary_name(name: str) -> bool:
    """Whether ``name`` has the form of `temporary_name`."""
    return ".reactor" in name and _NAME.fullmatch(name) is not None
