"""Finds out which types of file systems this host can't mount: no kernel, kernel module or helper program knows them."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Final

_REGISTERED: Final = "/proc/filesystems"
_KERNEL_SETTINGS: Final = "/proc/sys/kernel"
_MODULES: Final = "/lib/modules"
_MODULE_CONFIGURATION: Final = (
    "/etc/modprobe.d",
    "/run/modprobe.d",
    "/usr/lib/modprobe.d",
    "/lib/modprobe.d",
)
_HELPERS: Final = ("/sbin", "/sbin/fs.d", "/sbin/fs")
"""Where mount(8) looks for helper programs, such as ``mount.nfs``."""
_DECIDED_BY_MOUNT: Final = ("auto", "none")


def helper_of(fstype: str) -> str:
    """The path of the helper program of ``fstype``, which a package may install."""
    return f"{_HELPERS[0]}/mount.{fstype}"


def is_unknown(fstype: str) -> bool:
    """Whether this host certainly can't mount ``fstype``. False if that is not known, as in many containers."""
    family = fstype.partition(".")[0]  # of fuse.sshfs
    if fstype in _DECIDED_BY_MOUNT or any(map(_has_helper, (fstype, family))):
        return False
    registered = _read(_REGISTERED)
    if registered is None or family in registered.split():
        return False
    return not _can_be_loaded(family)


def _has_helper(fstype: str) -> bool:
    return any(os.access(f"{directory}/mount.{fstype}", os.X_OK) for directory in _HELPERS)


def _can_be_loaded(fstype: str) -> bool:
    """Whether the kernel may load a module for ``fstype``. True if its modules can't be listed here."""
    if not os.path.isdir(_KERNEL_SETTINGS):
        return True
    loader = _read(f"{_KERNEL_SETTINGS}/modprobe")  # not there without modules, empty without a program
    if loader is None or not loader.strip() or _read(f"{_KERNEL_SETTINGS}/modules_disabled") == "1\n":
        return False
    known = _read(f"{_MODULES}/{os.uname().release}/modules.alias")
    if known is None:
        return True
    texts = chain((known,), _configured())
    alias = f"fs-{fstype}".replace("_", "-")  # to modprobe, both are the same
    return any(alias in text.replace("_", "-").split() for text in texts)


def _configured() -> list[str]:
    files = chain.from_iterable(Path(directory).glob("*.conf") for directory in _MODULE_CONFIGURATION)
    return [text for file in files if (text := _read(str(file))) is not None]


def _read(path: str) -> str | None:
    """The text of a file that only root can write; None if it can't be read."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return None
