"""Unpacks the archive of a manifest: files and directories, and nothing else."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from reactor.unpacking.limits import UnpackingLimits
from reactor.unpacking.members import Member, MemberType, UnpackingError
from reactor.unpacking.unpack import unpack as unpack_archive

MANIFEST = "manifest.yaml"
_LIMITS = UnpackingLimits(members=10_000, size=256 * 1024 * 1024)


def unpack(archive: Path, into: Path) -> str:
    """Unpack the gzipped tar ``archive`` into the empty directory ``into``; return the path of the manifest within it.

    That is the first member with its name. Raises UnpackingError.
    """
    manifest = None

    def look(member: Member, _written: int) -> None:
        nonlocal manifest
        if member.type not in (MemberType.FILE, MemberType.DIRECTORY):
            raise UnpackingError(f"the archive holds something that is no file: {member.name!r}")
        name = PurePosixPath(member.name)
        if manifest is None and member.type is MemberType.FILE and name.name == MANIFEST:
            manifest = str(name)

    unpack_archive(str(archive), str(into), "tar.gz", limits=_LIMITS, report=look)
    if manifest is None:
        raise UnpackingError(f"{MANIFEST} not found in archive")
    return manifest
