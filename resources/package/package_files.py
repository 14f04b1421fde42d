"""Packages from a file or URL instead of a repository. They are checked and installed as a private copy."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Annotated, Final, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, ValidationInfo

from reactor import DistrustedError, ResourceError, in_thread, open_input, size_in_words
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    checksum_of,
    digest_of,
    open_source,
    private_copy,
    private_directory,
)
from reactor.resources.download.source import http_filename, is_url, resolve_source, shown_url
from reactor.resources.package.planner import Change, Changes, Compare, Desired, Refusals

SUFFIXES: Final = {"apt": ".deb", "dnf": ".rpm"}
"""The suffix of the files that each provider installs."""
_LINE: Final = re.compile(r"^(\S+)\t(\S+)\t(\S+)$", re.MULTILINE)
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MODE: Final = 0o600
_MAX_SIZE: Final = 4 << 30
_TIMEOUT: Final = 600.0

Read = Callable[[str], Awaitable[str]]
"""Reads the package file at a path: lines of name, architecture and version, separated by tabs."""

Verify = Callable[[str], Awaitable[None]]
"""Raises ResourceError if the package manager would refuse the signature of the package file at a path."""


def suffix_of(source: str) -> str:
    """The suffix of the file name, such as ``.deb``."""
    return os.path.splitext(urlsplit(source).path if is_url(source) else source)[1]


def _check_source(text: str, info: ValidationInfo) -> str:
    if is_url(text):
        http_filename(text)
    else:
        text = resolve_source(text, info)
    if suffix_of(text) not in SUFFIXES.values():
        raise ValueError(f"the name of the file must end in {' or '.join(SUFFIXES.values())}")
    return text


PackageSource = Annotated[str, AfterValidator(_check_source)]
"""The path of a .deb or .rpm file, or its URL; a relative path starts at the directory of the manifest."""


class _Identity(NamedTuple):
    """The package in a file."""

    name: str
    architecture: str
    version: str


def _parse_identities(text: str) -> list[_Identity]:
    """The packages in the lines of `Read`; warnings between them are ignored."""
    return [_Identity(name, arch, version.removeprefix("0:")) for name, arch, version in _LINE.findall(text)]


class PackageFiles:
    """The private copies of the files that one transaction installs, for a block. Each copy is made once."""

    def __init__(self, provider: str, read: Read, verify: Verify, compare: Compare) -> None:
        self._provider = provider
        self._read = read
        self._verify = verify
        self._compare = compare
        self._copies: dict[str, str] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    async def with_files(
        self, all_desired: Mapping[str, Desired], changes: Changes
    ) -> tuple[Changes, Refusals]:
        """Add the files to the ``changes`` that install them, and refuse files that can't be used."""
        ready: dict[str, Change] = {}
        refusals: Refusals = {}
        for ref, change in changes.items():
            try:
                file = "" if all_desired[ref].source is None else await self._verified(all_desired[ref])
                ready[ref] = replace(change, file=file)
            except ResourceError as refusal:
                refusals[ref] = refusal
        return ready, refusals

    async def _verified(self, desired: Desired) -> str:
        """The path of the copy, after its signature was verified if the host requires signatures."""
        path = await self.copy_of(desired)
        try:
            await self._verify(path)
        except ResourceError as error:
            words = f"{_shown(desired.source or '')} can't be installed: {error.message}"
            raise ResourceError(words, error.hint) from error
        return path

    async def copy_of(self, desired: Desired) -> str:
        """The path of the copy of the source file, after its package, version and SHA-256 were checked.

        Raises ResourceError.
        """
        if desired.name not in self._copies:
            path = await self._copy(desired)
            await self._check(desired, path)
            self._copies[desired.name] = path
        return self._copies[desired.name]

    async def version_of(self, desired: Desired) -> str:
        """The version in the source file. Raises ResourceError as `copy_of`."""
        path = await self.copy_of(desired)
        return (await self._identity(_shown(desired.source or ""), path)).version

    async def _copy(self, desired: Desired) -> str:
        source = desired.source or ""
        suffix = SUFFIXES[self._provider]
        if suffix_of(source) != suffix:
            raise ResourceError(
                f"{self._provider} can't install a {suffix_of(source)} file",
                f"name a file that ends in {suffix}",
            )
        name = f"{desired.name}{suffix}"
        if is_url(source):
            return await _fetch(source, f"{self._stack.enter_context(private_directory())}/{name}")
        with ErrorContext(f"read the package {source}"):
            return await in_thread(self._copy_local, source, name, desired.checksum)

    def _copy_local(self, path: str, name: str, checksum: str | None) -> str:
        """Copy a local file. Without a checksum, only root may be able to write to it.

        The checksum is compared before the copy: a user could fill the disk of root with a file of any length.
        """
        fd = _opened(path, checksum is not None)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise ResourceError(f"the package {path} is not a regular file", "name a file to install")
            if found.st_size > _MAX_SIZE:
                words = f"the package {path} is larger than {size_in_words(_MAX_SIZE)}"
                raise ResourceError(words, "name a file to install")
            if checksum is not None:
                _require_checksum(path, digest_of(fd, most=found.st_size), checksum)
            mine = Attributes(os.geteuid(), os.getegid(), _MODE)
            return self._stack.enter_context(private_copy(fd, name, mine, most=found.st_size))
        finally:
            os.close(fd)

    async def _check(self, desired: Desired, path: str) -> None:
        source = _shown(desired.source or "")
        if desired.checksum is not None:
            _require_checksum(source, await in_thread(checksum_of, path), desired.checksum)
        identity = await self._identity(source, path)
        if desired.name not in (
            identity.name,
            f"{identity.name}:{identity.architecture}",
            f"{identity.name}.{identity.architecture}",
        ):
            words = f"{source} holds the package {identity.name}, and not {desired.name}"
            raise ResourceError(words, f"call the resource {identity.name}, or name another file")
        if desired.ensure != "present" and self._compare(identity.version, desired.ensure) != 0:
            words = f"{source} holds version {identity.version} of {identity.name}, and not {desired.ensure}"
            raise ResourceError(words, f"write ensure: {identity.version}, or name another file")

    async def _identity(self, source: str, path: str) -> _Identity:
        try:
            identities = _parse_identities(await self._read(path))
        except ResourceError as error:
            words = f"{source} is not a package that {self._provider} can install"
            raise ResourceError(f"{words}: {error.message}", error.hint) from error
        if len(identities) != 1:
            raise ResourceError(
                f"{source} is not a package that {self._provider} can install", "name another file"
            )
        return identities[0]


def _require_checksum(source: str, found: str | None, wanted: str) -> None:
    if found is None:
        raise ResourceError(f"{source} grows while it is read", "see what writes to it")
    if found != wanted:
        words = f"{source} has the SHA-256 {found}, and not {wanted}"
        raise ResourceError(words, "correct the checksum, if that is the package you want")


def _shown(source: str) -> str:
    return shown_url(source) if is_url(source) else source


def _opened(path: str, has_checksum: bool) -> int:
    try:
        return open_source(path) if has_checksum else open_input(path, _READ)
    except FileNotFoundError as error:
        words = f"can't read the package {path}: there is no such file"
        hint = "correct the path, or require the resource that creates the file"
        raise ResourceError(words, hint, missing=path) from error
    except DistrustedError as error:
        hint = f"{error.hint or 'give it to root'}, or write its checksum"
        raise ResourceError(f"the package {path} can't be trusted: {error}", hint) from error


async def _fetch(url: str, path: str) -> str:
    """Download ``url`` to ``path``, and return ``path``. Raises ResourceError."""
    from reactor.resources.download.fetching import fetch_to  # noqa: PLC0415 - most packages are from repositories

    await fetch_to(url, path, max_size=_MAX_SIZE, stall_timeout=_TIMEOUT)
    return path
