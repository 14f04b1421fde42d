"""Unpacks the archive of a manifest. Whatever could reach out of the directory, or fill the disk, is refused."""

from __future__ import annotations

import os
import tarfile
import zlib
from pathlib import Path, PurePosixPath

MANIFEST = "manifest.yaml"
MAX_BYTES = 256 * 1024 * 1024
MAX_MEMBERS = 10_000


class UnpackingError(Exception):
    """The archive is not one, or holds something that it must not."""


def unpack(archive: Path, into: Path) -> str:
    """Unpack ``archive`` into the empty directory ``into``; return the path of the manifest within it.

    Only regular files and directories are taken; nothing is written outside of ``into``. Raises UnpackingError.
    """
    try:
        with tarfile.open(archive, "r:gz") as tar:
            return _unpack(tar, into)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise UnpackingError(f"not a gzipped tar archive: {error}") from error


def _unpack(tar: tarfile.TarFile, into: Path) -> str:
    manifest = None
    total = 0
    for count, member in enumerate(tar, start=1):
        name = _checked_name(member)
        total += member.size
        if count > MAX_MEMBERS or total > MAX_BYTES:
            raise UnpackingError(
                f"the archive holds more than {MAX_MEMBERS} members or {MAX_BYTES // 2**20} MiB"
            )
        _write(tar, member, into / name)
        if manifest is None and member.isreg() and name.name == MANIFEST:
            manifest = str(name)
    if manifest is None:
        raise UnpackingError(f"{MANIFEST} not found in archive")
    return manifest


def _checked_name(member: tarfile.TarInfo) -> PurePosixPath:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\0" in member.name:
        raise UnpackingError(f"the archive reaches out of its directory: {member.name!r}")
    if not (member.isreg() or member.isdir()):
        raise UnpackingError(f"the archive holds something that is no file: {member.name!r}")
    return name


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while content is not None and (chunk := content.read(1 << 20)):
            file.write(chunk)
        os.fchmod(descriptor, 0o700 if member.mode & 0o100 else 0o600)
