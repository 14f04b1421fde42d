"""The cache of downloaded manifests. Each source has a directory, with one directory in it for each version."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from reactor.errors import ReactorError
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.source.address import parse_address, parse_data_address
from reactor.source.download import DownloadError, download
from reactor.source.links import Address, Version
from reactor.source.temp_directory import is_scratch, scratch
from reactor.trust.inputs import make_own_directory, open_own, require_own_directory
from reactor.trust.rule import DistrustedError
from reactor.unpacking.members import Member, MemberType, UnpackingError, UnpackingLimits
from reactor.unpacking.unpack import unpack as unpack_archive

MANIFEST = "manifest.yaml"
LIMITS = UnpackingLimits(members=10_000, size=256 * 1024 * 1024)


def unpack(archive: Path, into: Path) -> str:
    """Unpack the gzipped tar ``archive`` into the empty directory ``into``; return the path of the manifest in it.

    The manifest is the first member whose file name is manifest.yaml. Raises UnpackingError.
    """
    manifest = None

    def check_member(member: Member, _written: int) -> None:
        nonlocal manifest
        if member.type not in (MemberType.FILE, MemberType.DIRECTORY):
            raise UnpackingError(f"the archive contains something that is not a file: {member.name!r}")
        name = PurePosixPath(member.name)
        if manifest is None and member.type is MemberType.FILE and name.name == MANIFEST:
            manifest = str(name)

    unpack_archive(str(archive), str(into), "tar.gz", limits=LIMITS, report=check_member)
    if manifest is None:
        raise UnpackingError(f"{MANIFEST} not found in archive")
    return manifest


_STATE = "current.json"
_VALID = "valid.json"
_ALONE = "data.yaml"

_Put = Callable[[Path, Path], str]
"""Puts a download into an empty directory; returns the path in it of the file to read."""


def cache_directory() -> Path:
    """Return the default directory of the cache."""
    if os.geteuid() == 0:
        return Path("/var/cache/reactor")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reactor"


def fetched(url: str, cache: str | None, warn: Callable[[str], None], context: str = "") -> str:
    """Return the path of the manifest in the newest available archive at ``url``.

    An unchanged archive is not downloaded again. If the source is unreachable, or its archive is invalid, the last
    good archive is used, and ``warn`` is called. Raises ManifestError if there is none. ``context`` names the settings
    for schemes other than http and https.
    """
    return _newest(parse_address(url, context), unpack, cache, warn)


def fetched_data(
    url: str,
    cache: str | None,
    warn: Callable[[str], None],
    fault: Callable[[Path], str | None],
    context: str = "",
) -> str:
    """Do the same as `fetched` for a data file. ``fault`` returns the reason why a file is invalid, or None."""
    address = parse_data_address(url, context)
    return _newest(address, partial(_put_alone, address, fault), cache, warn)


def directory_of(url: str, cache: str | None, context: str) -> str:
    """Return the directory of all versions of the archive at ``url``. Raises ManifestError."""
    return str(_kept(parse_address(url, context), _home(cache)).absolute())


def record_valid(url: str, files: Iterable[str], cache: str | None, context: str) -> None:
    """Remember that the newest version of the manifest at ``url`` is valid, if it was loaded from some of ``files``."""
    _source_of(url, cache, context).record_valid(files)


def last_valid(url: str, cache: str | None, context: str) -> str | None:
    """Return the path of the last manifest from ``url`` that `record_valid` was called for; None if there is none.

    Raises ManifestError if others could change the cache.
    """
    return _source_of(url, cache, context).last_valid()


def _source_of(url: str, cache: str | None, context: str) -> _Source:
    return _trusted(parse_address(url, context), unpack, _home(cache))


def _home(cache: str | None) -> Path:
    return Path(cache) if cache is not None else cache_directory()


def _kept(address: Address, home: Path) -> Path:
    return home / hashlib.sha256(address.identity.encode()).hexdigest()[:32]


def _newest(address: Address, put: _Put, cache: str | None, warn: Callable[[str], None]) -> str:
    home = _home(cache)
    source = _trusted(address, put, home)
    try:
        return source.renewed(address)
    except ManifestError:
        raise
    except (ReactorError, OSError) as error:
        if (last := source.last_good()) is None:
            raise ManifestError([_diagnostic(error, home, address.shown)]) from error
        age = _age(time.time() - source.fetched_at())
        warn(f"{error}; the last valid version of {address.shown}, fetched {age} ago, is used")
        return last


def _trusted(address: Address, put: _Put, home: Path) -> _Source:
    """Return the cache of ``address``. Raises ManifestError if others could change it."""
    kept = _kept(address, home)
    _refuse_shared(home)
    _refuse_shared(kept)
    return _Source(kept, put)


def _age(seconds: float) -> str:
    """Return a duration in its largest unit: ``3 h``."""
    for name, length in (("days", 48 * 3600), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // (24 * 3600 if name == 'days' else length):.0f} {name}"
    return f"{max(0.0, seconds):.0f} s"


def _refuse_shared(directory: Path) -> None:
    """Raise ManifestError if untrusted users can write to the cache, since its manifests are applied."""
    try:
        require_own_directory(str(directory))
    except DistrustedError as error:
        raise _distrusted(directory, error) from error


def _make(directory: Path) -> None:
    """Create the cache. Raises ManifestError if another user has created it meanwhile."""
    try:
        make_own_directory(str(directory))
    except DistrustedError as error:
        raise _distrusted(directory, error) from error


def _distrusted(directory: Path, error: DistrustedError) -> ManifestError:
    message = f"the cache {directory} can't be trusted: {error}"
    hint = f"{error.fix}; or name another directory with --cache"
    return ManifestError([Diagnostic("R0401", message, None, hint)])


def _diagnostic(error: Exception, home: Path, shown: str) -> Diagnostic:
    """Return the diagnostic for an error of the cache or of the download of ``shown``."""
    if isinstance(error, UnpackingError):
        hint = error.hint or "pack manifest.yaml and what belongs to it with tar -czf"
        code = "R0404" if error.hint is None else error.code
        return Diagnostic(code, f"{shown}: {error.message}", None, hint)
    if isinstance(error, OSError) and str(error.filename or "").startswith(str(home)):
        message = f"can't keep what is fetched in {error.filename}: {error.strerror}"
        return Diagnostic("R0404", message, None, "name another directory with --cache")
    if isinstance(error, ReactorError) and error.hint is not None:
        return Diagnostic(error.code, error.message, None, error.hint)
    return Diagnostic("R0404", str(error), None, "check the URL, and that the host can be reached")


def _put_alone(address: Address, fault: Callable[[Path], str | None], file: Path, into: Path) -> str:
    if (problem := fault(file)) is not None:
        raise DownloadError(f"{address.shown} is invalid: {problem}", "correct it there")
    shutil.copyfile(file, into / _ALONE)
    return _ALONE


class _Source:
    """The cache of one URL. ``current.json`` names the newest version, ``valid.json`` the last with a valid manifest.

    Both are replaced atomically.
    """

    def __init__(self, directory: Path, put: _Put) -> None:
        self._directory = directory
        self._put = put

    def last_good(self) -> str | None:
        return self._named_in(_STATE)

    def last_valid(self) -> str | None:
        return self._named_in(_VALID)

    def record_valid(self, files: Iterable[str]) -> None:
        state = self._state()
        if state is None or state == self._state(_VALID):
            return
        version = f"{(self._directory / state['version']).absolute()}/"
        if any(os.path.abspath(file).startswith(version) for file in files):
            with scratch(self._directory) as place:
                self._record(state, place, _VALID)

    def _named_in(self, name: str) -> str | None:
        state = self._state(name)
        path = self._directory / state["version"] / state["manifest"] if state else None
        return str(path) if path is not None and path.is_file() else None

    def fetched_at(self) -> float:
        """When the last valid version was last the newest, in seconds since 1970."""
        return (self._directory / _STATE).stat().st_mtime

    def renewed(self, address: Address) -> str:
        _make(self._directory)
        state = self._state()
        last = self.last_good()
        known = Version(**state["known"]) if state and last else Version()
        with scratch(self._directory) as place:
            archive = place / "archive"
            with archive.open("xb") as file:
                fetch = download if address.link is None else address.link.download
                version = fetch(address, known, file)
            if version is None and last is not None:
                (self._directory / _STATE).touch()
                return last
            return self._adopt(archive, version or Version(), place)

    def _adopt(self, archive: Path, version: Version, place: Path) -> str:
        """Unpack in ``place``, then rename. After a crash, the previous version is still in use."""
        with archive.open("rb") as file:
            name = hashlib.file_digest(file, "sha256").hexdigest()
        content = place / "content"
        content.mkdir(mode=0o700)
        manifest = self._put(archive, content)
        if not (self._directory / name).is_dir():
            content.rename(self._directory / name)
        self._record({"version": name, "manifest": manifest, "known": asdict(version)}, place)
        self._forget_all_but(name)
        return str(self._directory / name / manifest)

    def _state(self, name: str = _STATE) -> dict[str, Any] | None:
        try:
            with open(self._directory / name, encoding="utf-8", opener=open_own) as file:
                state = json.load(file)
            return {
                "version": str(state["version"]),
                "manifest": str(state["manifest"]),
                "known": dict(state["known"]),
            }
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _record(self, state: dict[str, Any], place: Path, name: str = _STATE) -> None:
        temporary = place / name
        temporary.write_text(json.dumps(state))
        temporary.replace(self._directory / name)

    def _forget_all_but(self, current: str) -> None:
        """Remove old versions, except the previous one, whose files a run may still read, and the last valid one."""
        valid = self._state(_VALID) or {"version": current}
        directories = [each for each in self._directory.iterdir() if each.is_dir() and not is_scratch(each)]
        versions = [each for each in directories if each.name not in (current, valid["version"])]
        versions.sort(key=lambda each: each.stat().st_mtime)
        for old in versions[:-1]:
            shutil.rmtree(old, ignore_errors=True)
