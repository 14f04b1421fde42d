"""Unpacks an archive into a directory."""

from __future__ import annotations

import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from reactor.unpacking.formats import explanation, single_name
from reactor.unpacking.members import Budget, Member, UnpackingError, UnpackingLimits
from reactor.unpacking.single import SingleFile, members_of_single
from reactor.unpacking.tar import members_of_tar
from reactor.unpacking.tree import Tree
from reactor.unpacking.zips import members_of_zip

_HEAD = 512
_PARSING = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, ValueError,
    ArithmeticError, LookupError, RuntimeError,
)  # fmt: skip
"""The exceptions that the standard library's parsers raise for invalid input. Only some of them are documented."""


def _silently(_member: Member, _written: int) -> None:
    """Do nothing: the default for ``report``."""


def unpack(
    archive: str,
    into: str,
    archive_format: str,
    *,
    limits: UnpackingLimits,
    owner: tuple[int, int] | None = None,
    report: Callable[[Member, int], None] = _silently,
    strip: int = 0,
    single: SingleFile | None = None,
) -> None:
    """Unpack the file ``archive``, which is in ``archive_format``, into the empty directory ``into``.

    Unpacks files, directories, and links that stay inside. Any other member is an error; then the content of ``into``
    must not be used. Everything belongs to ``owner`` (ids of user and group), else to the user of this process, never
    to the user that the archive names. Only the owner can write to it. ``report`` is called with each member before it
    is created, and after each chunk of it, with the bytes written so far; its exceptions end the unpacking. The first
    ``strip`` components of each name are dropped; a member without further components is left out. A compressed file
    that is not an archive becomes the file ``single``.

    Blocks. Raises UnpackingError for errors of the archive, and OSError for errors of the disk.
    """
    with open(archive, "rb") as file:
        unpack_open(
            file, into, archive_format, limits=limits, owner=owner, report=report, strip=strip, single=single
        )


def unpack_open(
    file: IO[bytes],
    into: str,
    archive_format: str,
    *,
    limits: UnpackingLimits,
    owner: tuple[int, int] | None = None,
    report: Callable[[Member, int], None] = _silently,
    strip: int = 0,
    single: SingleFile | None = None,
) -> None:
    """Unpack an open file from its position, as `unpack` does."""
    budget = Budget(limits, os.fstat(file.fileno()).st_size)
    with Tree(into, budget, owner, report, strip) as tree:
        try:
            for member in _members(file, archive_format, limits, budget, single):
                tree.add(member)
        except (OSError, *_PARSING) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise _damaged(file, archive_format, error) from error
        tree.require_some()


def _members(
    file: IO[bytes],
    archive_format: str,
    limits: UnpackingLimits,
    budget: Budget,
    single: SingleFile | None,
) -> Iterator[Member]:
    if single is not None:
        return members_of_single(file, archive_format, single)
    if archive_format == "zip":
        return members_of_zip(file, limits)
    return members_of_tar(file, archive_format, budget)


def _damaged(file: IO[bytes], archive_format: str, error: Exception) -> UnpackingError:
    file.seek(0)
    hint = explanation(file.read(_HEAD), archive_format)
    what = "file" if single_name(f"x.{archive_format}") else "archive"
    reason = str(error) or type(error).__name__
    return UnpackingError(f"not a usable {archive_format} {what}: {reason}", hint)
