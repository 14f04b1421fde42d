"""Distinguishes file systems that the host always mounts at a path from those that another program has mounted for a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reactor.hostfs import is_mount_point

if TYPE_CHECKING:
    from reactor.resources.file.state import Desired, FileState

_FSTAB: Final = "/etc/fstab"
_UNITS: Final = (
    "/etc/systemd/system",
    "/run/systemd/generator",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
_OF_THE_KERNEL: Final = ("/dev", "/proc", "/run", "/sys")
"""The directories where file systems are mounted before anything is configured."""
_OCTAL: Final = re.compile(r"\\([0-7]{3})")
_PLAIN: Final = re.compile(r"[A-Za-z0-9:_.]")
COVERED: Final = (
    "an unexpected file system is mounted on the directory: it is not in the manifest, in /etc/fstab or in a systemd unit. "
    "Owner and mode are not compared until it is unmounted. To manage the root of that file system, write mounted_root: true"
)


def is_unexpected_mount(desired: Desired, state: FileState, fd: int) -> bool:
    """Whether the desired directory, open at ``fd`` and found as ``state``, is the root of what is mounted for a time.

    Only asked if its attributes differ: they would be set on the wrong directory.
    """
    return (
        desired.settings.ensure == "directory"
        and not desired.settings.mounted_root
        and (state.uid, state.gid, state.mode) != state.wanted
        and is_mount_point(desired.path, fd)
        and not is_always_mounted(desired.path, fd)
    )


def is_always_mounted(path: str, fd: int) -> bool:
    """Whether the host mounts a file system at ``path`` at boot: by /etc/fstab, by a unit, or by itself.

    ``path`` is open at ``fd``.
    """
    names = {path, os.readlink(f"/proc/self/fd/{fd}")}
    if any(f"{name}/".startswith(tuple(f"{each}/" for each in _OF_THE_KERNEL)) for name in names):
        return True
    return not names.isdisjoint(("/", *_points_in_fstab())) or any(map(_has_unit, names))


def _points_in_fstab() -> Iterator[str]:
    try:
        text = Path(_FSTAB).read_text(errors="surrogateescape")
    except OSError:
        return
    for line in text.split("\n"):
        if len(fields := line.split()) > 1 and not fields[0].startswith("#"):
            yield os.path.normpath(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[1]))


def _has_unit(path: str) -> bool:
    name = unit_of(path)
    return any(os.path.lexists(f"{directory}/{name}") for directory in _UNITS)


def unit_of(path: str) -> str:
    """The name of the unit that mounts a file system at ``path``, see systemd.unit(5)."""
    parts = path.strip("/")
    escaped = "".join(
        "-" if letter == "/" else letter if _is_plain(letter, first=at == 0) else _hexadecimal(letter)
        for at, letter in enumerate(parts)
    )
    return f"{escaped or '-'}.mount"


def _is_plain(letter: str, *, first: bool) -> bool:
    return _PLAIN.fullmatch(letter) is not None and not (first and letter == ".")


def _hexadecimal(letter: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))
