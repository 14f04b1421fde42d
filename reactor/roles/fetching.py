"""Fetches one role, checks it against what is known of it, and puts it into the cache.

A role in the cache is named by everything that was checked, so a lock file or a manifest that asks for something else
makes it be fetched and checked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

from reactor.errors import ReactorError
from reactor.resource.role import RemoteRole
from reactor.roles.errors import RoleError
from reactor.roles.git import TIMEOUT, repository, without_credentials
from reactor.roles.lock_file import Locked
from reactor.source.address import parse_role_address
from reactor.source.cache import LIMITS, MANIFEST, cache_directory
from reactor.source.download import download
from reactor.source.links import Address, Version
from reactor.source.temp_directory import scratch
from reactor.trust.inputs import make_own_directory, require_own_directory
from reactor.trust.rule import DistrustedError
from reactor.unpacking.members import Member, MemberType, UnpackingError
from reactor.unpacking.unpack import unpack

_NAMESPACE = "reactor-role"


class RoleCache:
    """The roles below the cache directory. Raises RoleError if other users could change it.

    ``context`` names the settings of the network that roles at obj:// are read from.
    """

    def __init__(self, cache: str | None, context: str = "") -> None:
        self._context = context
        self._home = (Path(cache) if cache is not None else cache_directory()).absolute() / "roles"
        try:
            require_own_directory(str(self._home))
        except DistrustedError as error:
            hint = f"{error.fix}; or name another directory with --cache"
            raise RoleError("R0401", f"the cache {self._home} can't be trusted: {error}", hint) from error

    def find(self, wanted: RemoteRole, locked: Locked) -> str | None:
        """Return the directory of the role that was fetched and checked as ``locked``; None if it was not."""
        place = self._home / _name(wanted, locked)
        return _inside(place, wanted) if place.is_dir() else None

    def fetch(
        self, wanted: RemoteRole, locked: Locked | None, known_as: Locked | None = None
    ) -> tuple[str, Locked]:
        """Fetch the role, check it, and return its directory and what it is.

        ``locked`` is what it must be; None if that is not known yet. ``known_as`` is what `find` will ask for. Raises
        RoleError.
        """
        try:
            make_own_directory(str(self._home))
            with scratch(self._home) as place:
                content = place / "content"
                content.mkdir(mode=0o700)
                if wanted.revision is None:
                    address = parse_role_address(wanted.url, self._context)
                    found = _fetch_archive(wanted, locked, address, place)
                else:
                    found = _fetch_commit(wanted, locked, place, content)
                _inside(content, wanted)
                final = self._home / _name(wanted, known_as or found)
                if not final.is_dir():
                    content.rename(final)
        except OSError as error:
            message = f"can't keep the role in {error.filename or self._home}: {error.strerror or error}"
            raise RoleError("R0123", message, "name another directory with --cache") from error
        return _inside(final, wanted), found


def _name(wanted: RemoteRole, locked: Locked) -> str:
    known = [
        without_credentials(wanted.url),
        wanted.path,
        locked.commit,
        locked.digest,
        sorted(wanted.signers),
    ]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()


def _inside(place: Path, wanted: RemoteRole) -> str:
    """Return the directory with the manifest of the role. Raises RoleError if there is none."""
    below = place / wanted.path if wanted.revision is None else place
    if not (below / MANIFEST).is_file() and not wanted.path:
        inside = [each for each in sorted(below.iterdir()) if each.is_dir()]
        below = inside[0] if len(inside) == 1 else below
    if not (below / MANIFEST).is_file():
        hint = f"a role is a directory with a {MANIFEST}: write its path there as 'path'"
        raise RoleError("R0123", f"{without_credentials(wanted.url)} has no {MANIFEST}", hint)
    return str(below)


def _fetch_commit(wanted: RemoteRole, locked: Locked | None, place: Path, content: Path) -> Locked:
    git, revision = repository(wanted.url), wanted.revision or ""
    commit = locked.commit if locked is not None and locked.commit else git.commit_of(revision)
    git.fetch(place / "git", commit)
    if wanted.signers:
        git.verify(place / "git", commit, _allowed(wanted, place))
    git.archive(place / "git", commit, wanted.path, place / "archive")
    _unpack(place / "archive", content, "tar", wanted)
    found = Locked(digest_of(content), commit)
    if locked is not None and found.digest != locked.digest:
        hint = "the lock file was changed, or the repository: compare, and then run reactor roles update"
        message = f"the commit {commit[:12]} of {git.url} does not have the digest of the lock file"
        raise RoleError("R0125", f"{message}: sha256:{found.digest}", hint)
    return found


def _fetch_archive(wanted: RemoteRole, locked: Locked | None, address: Address, place: Path) -> Locked:
    archive = place / "archive"
    _download(address, archive)
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    for what, expected in (("manifest", wanted.checksum), ("lock file", locked and locked.digest)):
        if expected is not None and digest != expected:
            hint = "find out what has changed it; if the new one is right, write its checksum, and run reactor roles update"
            message = f"{address.shown} does not have the checksum of the {what}: it has sha256:{digest}"
            raise RoleError("R0125", message, hint)
    if wanted.signers:
        _verify(address, archive, wanted, place)
    _unpack(archive, place / "content", "tar.gz", wanted)
    return Locked(digest)


def _download(address: Address, to: Path) -> None:
    try:
        with to.open("xb") as file:
            fetch = download if address.link is None else address.link.download
            fetch(address, Version(), file)
    except ReactorError as error:
        hint = error.hint or "check the URL, and that the host can be reached"
        raise RoleError("R0123", error.message, hint) from error


def _verify(address: Address, archive: Path, wanted: RemoteRole, place: Path) -> None:
    """Check the signature that is beside the archive. Raises RoleError."""
    signature = place / "signature"
    beside = replace(address, url=f"{address.url}.sig", shown=f"{address.shown}.sig")
    _download(beside, signature)
    words = ["ssh-keygen", "-Y", "verify", "-f", str(_allowed(wanted, place)), "-I", "role", "-n", _NAMESPACE, "-s", str(signature)]  # fmt: skip
    try:
        with archive.open("rb") as file:
            done = subprocess.run(words, stdin=file, capture_output=True, timeout=TIMEOUT, check=False)
    except FileNotFoundError:
        hint = "install openssh-client"
        raise RoleError("R0126", "a signature can't be checked without ssh-keygen", hint) from None
    if done.returncode != 0:
        hint = "ask its author, and do not remove signed_by before you know why"
        raise RoleError("R0126", f"no key in signed_by has made {beside.shown} for this archive", hint)


def _allowed(wanted: RemoteRole, place: Path) -> Path:
    """Return the file with the keys that may sign, as ssh-keygen(1) and git read it."""
    path = place / "allowed_signers"
    lines = (f'role namespaces="git,{_NAMESPACE}" {key}\n' for key in wanted.signers)
    path.write_text("".join(lines))
    return path


def _unpack(archive: Path, content: Path, archive_format: str, wanted: RemoteRole) -> None:
    def check_member(member: Member, _written: int) -> None:
        if member.type not in (MemberType.FILE, MemberType.DIRECTORY):
            raise UnpackingError(
                f"a role has only files and directories, and {member.name!r} is {member.type.value}"
            )

    try:
        unpack(str(archive), str(content), archive_format, limits=LIMITS, report=check_member)
    except UnpackingError as error:
        raise RoleError("R0123", f"{without_credentials(wanted.url)}: {error.message}", error.hint) from error


def digest_of(directory: Path) -> str:
    """Return the SHA-256 of the names, contents and executable bits of all files below ``directory``."""
    total = hashlib.sha256()
    for above, directories, names in os.walk(directory):
        directories.sort()
        for name in sorted(names):
            path = Path(above, name)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            flag = "x" if path.stat().st_mode & 0o100 else "-"
            total.update(f"{flag} {digest} {path.relative_to(directory)}\0".encode(errors="surrogateescape"))
    return total.hexdigest()
