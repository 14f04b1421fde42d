"""Temporary files: how they are named, and how those of a killed run are told from those in use.

One is named ``.<basename>.<random>.reactor`` and holds a flock(2) for as long as its writer lives, in whatever
process or container that is. One without the lock is litter.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from hashlib import blake2b

import trio

_NAME = re.compile(r"\.(.+)\.[0-9a-f]{12}\.reactor", re.DOTALL)
_LONGEST_STEM = 200
"""Bytes. A name has room for 255."""

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Listing = dict[str, list[str]]
"""The names of the temporary files in one directory, by the stem of their target."""

_listings: trio.lowlevel.RunVar[dict[str, Listing]] = trio.lowlevel.RunVar("listings")


def temporary_name(base: str) -> str:
    """A new name for a temporary file that is to become ``base``."""
    return f".{_stem(base)}.{os.urandom(6).hex()}.reactor"


def hold(fd: int) -> bool:
    """Lock the temporary file at ``fd`` until it is closed; False when someone else has the lock."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.ENOLCK  # a file system without locks: then nobody takes it for litter
    return True


def find_litter(directory: str, base: str, uid: int) -> tuple[str, ...]:
    """Names of the temporary files for ``base`` that a killed run left in ``directory``.

    Each directory is read once in a run, by whoever comes first. ``uid`` is who may own them besides ourselves:
    a temporary file is given its owner before it is renamed.
    """
    try:
        listings = _listings.get()
    except LookupError:
        _listings.set(listings := {})
    listing = listings.get(directory)
    if listing is None:
        listing = listings[directory] = _list(directory)
    if not listing or (names := listing.get(_stem(base))) is None:
        return ()
    names[:] = [name for name in names if os.path.lexists(f"{directory}/{name}")]
    return tuple(name for name in names if is_litter(f"{directory}/{name}", uid))


def is_litter(path: str, uid: int) -> bool:
    """Whether the temporary file at ``path`` is ours, or ``uid``'s, and no living process writes it."""
    try:
        fd = os.open(path, _OPEN)
    except OSError:
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
    try:
        names = os.listdir(directory)
    except OSError:
        return listing  # whatever is wrong with it shows when the resource itself is looked at
    for name in names:
        if name.endswith(".reactor") and (match := _NAME.fullmatch(name)):
            listing.setdefault(match[1], []).append(name)
    return listing


def _stem(base: str) -> str:
    encoded = os.fsencode(base)
    return base if len(encoded) <= _LONGEST_STEM else blake2b(encoded, digest_size=16).hexdigest()
