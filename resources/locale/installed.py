"""Which locales there are: those in the archive of glibc, and those in directories of their own.

`locale -a` would say it in 3 ms, and reading the archive takes a tenth of that. Its layout is that of locarchive.h.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Iterator
from typing import Final

from reactor.hostfs import ErrorContext

DIRECTORY: Final = "/usr/lib/locale"
ARCHIVE: Final = f"{DIRECTORY}/locale-archive"
BUILT_IN: Final = ("C", "POSIX")
_HEAD: Final = struct.Struct("=5I")  # magic, serial, offset of the names, used, size
_NAME: Final = struct.Struct("=3I")  # hash, offset of the name, offset of the locale
_MAGIC: Final = 0xDE020109
_CODESET: Final = re.compile(r"\.([^@]*)")


def normalized(name: str) -> str:
    """The name as glibc keeps it: ``de_AT.UTF-8`` is ``de_AT.utf8``."""
    return _CODESET.sub(lambda match: "." + re.sub(r"[^a-z0-9]", "", match[1].lower()), name)


def is_installed(name: str) -> bool:
    """Whether programs can use the locale. Raises ResourceError when the archive can't be read."""
    if name in BUILT_IN:
        return True
    wanted = normalized(name)
    return directory_of(name) is not None or wanted in _archived()


def directory_of(name: str) -> str | None:
    """The directory of a locale that is not in the archive, as packages bring it; None if it has none."""
    paths = (f"{DIRECTORY}/{each}" for each in (name, normalized(name)))
    return next((path for path in paths if os.path.isfile(f"{path}/LC_IDENTIFICATION")), None)


def _archived() -> set[str]:
    with ErrorContext(f"read {ARCHIVE}"):
        try:
            with open(ARCHIVE, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return set(_names(data))
        except (FileNotFoundError, ValueError, struct.error):  # no archive, an empty or a damaged one
            return set()


def _names(data: mmap.mmap) -> Iterator[str]:
    magic, _, names, _, size = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        return
    for number in range(size):
        _, name, locale = _NAME.unpack_from(data, names + number * _NAME.size)
        if locale:
            yield data[name : data.find(b"\0", name)].decode(errors="replace")
