"""Reads a virtual environment from its files: which Python it has, and which packages are installed."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from packaging.utils import canonicalize_name

from reactor import stop_if_cancelled
from reactor.hostfs import open_path
from reactor.resources.trusted_directory import refuse_other_owner, refuse_way

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PARTS = {"bin", "include", "lib", "lib64", "pyvenv.cfg", "share"}
"""What an unfinished environment may hold."""
_METADATA = ".dist-info"


class Found(Enum):
    """The type of file at the path. The value is the end of a sentence."""

    NOTHING = "nothing"
    UNFINISHED = "an environment that is not complete"
    BROKEN = "an environment whose Python is gone"
    ENVIRONMENT = "an environment"
    OTHER = "a directory that is not a virtual environment"
    FILE = "not a directory"


class Environment(NamedTuple):
    """A virtual environment: its Python as in ``python3.11``, and the versions of each package, mostly one."""

    found: Found
    python: str | None = None
    installed: Mapping[str, tuple[str, ...]] = {}


def read_environment(path: str, uid: int) -> Environment:
    """Read what is at ``path``, for a Python that runs as ``uid``.

    Raises ResourceError when that would run what another user can change. Raises OSError.
    """
    try:
        fd = open_path(path)
    except (FileNotFoundError, NotADirectoryError):
        refuse_way(path, uid)
        return Environment(Found.NOTHING)
    try:
        found = os.fstat(fd)
        if not stat.S_ISDIR(found.st_mode):
            return Environment(Found.FILE)
        refuse_other_owner(path, found, uid)
        refuse_way(path, uid)
        return _read(path, fd, uid)
    finally:
        os.close(fd)


def _read(path: str, handle: int, uid: int) -> Environment:
    names = set(os.listdir(f"/proc/self/fd/{handle}"))
    for name in names & _PARTS:
        refuse_other_owner(f"{path}/{name}", os.stat(name, dir_fd=handle, follow_symlinks=False), uid)
    if "pyvenv.cfg" not in names:
        return Environment(Found.OTHER if names - _PARTS else Found.UNFINISHED)
    if not os.path.exists(f"/proc/self/fd/{handle}/bin/python"):
        return Environment(Found.BROKEN if "bin" in names else Found.UNFINISHED)
    python, installed = _installed(path, handle, uid)
    is_whole = "pip" in installed
    return Environment(Found.ENVIRONMENT if is_whole else Found.UNFINISHED, python, installed)


def _installed(path: str, handle: int, uid: int) -> tuple[str | None, Mapping[str, tuple[str, ...]]]:
    """The name of the Python, and the versions of each package by its canonical name."""
    installed: dict[str, tuple[str, ...]] = {}
    try:
        libraries = os.open("lib", _DIRECTORY, dir_fd=handle)
    except OSError:
        return None, installed
    try:
        python = max(
            (name for name in os.listdir(libraries) if name.startswith("python3")), default=None, key=_minor
        )
        if python is None:
            return None, installed
        below = f"{python}/site-packages"
        packages = os.open(below, _DIRECTORY, dir_fd=libraries)
    except OSError:
        return None, installed
    finally:
        os.close(libraries)
    try:
        refuse_other_owner(f"{path}/lib/{below}", os.fstat(packages), uid)
        for name in os.listdir(packages):
            stop_if_cancelled()
            if name.endswith(_METADATA) and not name.startswith("~") and _has_metadata(name, packages):
                package, _, version = name.removesuffix(_METADATA).rpartition("-")
                key = str(canonicalize_name(package))
                installed[key] = (*installed.get(key, ()), version)
    finally:
        os.close(packages)
    return python, installed


def _has_metadata(name: str, directory: int) -> bool:
    """Whether it is a package: of a removed one, a directory with files of others may stay."""
    try:
        return stat.S_ISREG(os.stat(f"{name}/METADATA", dir_fd=directory).st_mode)
    except OSError:
        return False


def _minor(name: str) -> int:
    digits = name.removeprefix("python3.")
    return int(digits) if digits.isdigit() else -1
