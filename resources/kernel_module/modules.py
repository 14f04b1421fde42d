"""Reads which modules the kernel has loaded, has built in, and may load."""

from __future__ import annotations

import os
from typing import NamedTuple

from reactor.hostfs import ErrorContext, effective_capabilities

LOADED = "/proc/modules"
_RELEASES = ("/lib/modules", "/usr/lib/modules")
_KNOWN = "/sys/module"
_DISABLED = "/proc/sys/kernel/modules_disabled"
_CAP_SYS_MODULE = 16


class Loaded(NamedTuple):
    """A loaded module: how many use it, and the modules among these."""

    users: int
    modules: tuple[str, ...]


def loaded(name: str) -> Loaded | None:
    """The module, if it is loaded. Raises ResourceError when the kernel does not say."""
    with ErrorContext(f"read {LOADED}"):
        try:
            with open(LOADED, encoding="ascii", errors="replace") as lines:
                fields = next((line.split() for line in lines if line.startswith(f"{name} ")), None)
        except FileNotFoundError:  # a kernel without loadable modules
            return None
    if fields is None:
        return None
    users = int(fields[2]) if fields[2].isdigit() else 0
    return Loaded(users, tuple(each for each in fields[3].split(",") if each not in ("", "-")))


def is_builtin(name: str) -> bool:
    """Whether the module is a part of the running kernel. Raises ResourceError.

    A kernel without loadable modules does not list those that are built in. It shows those that have parameters.
    """
    shown = f"{_KNOWN}/{name}"
    if os.path.isdir(shown) and not os.path.exists(f"{shown}/initstate"):  # which only a loadable one has
        return True
    release = os.uname().release
    for above in _RELEASES:
        path = f"{above}/{release}/modules.builtin"
        with ErrorContext(f"read {path}"):
            try:
                with open(path, encoding="ascii", errors="replace") as lines:
                    return any(_name_of(line) == name for line in lines)
            except (FileNotFoundError, NotADirectoryError):
                continue
    return False


def has_parameter(name: str, parameter: str, value: str) -> bool:
    """Whether the running module has the parameter at this value, as far as the kernel shows it."""
    shown = _first_line(f"{_KNOWN}/{name}/parameters/{parameter}")
    return value in (shown, {"Y": "1", "N": "0"}.get(shown))


def obstacle() -> tuple[str, str] | None:
    """Why no module can be loaded or removed here, and a hint; None if it may be possible."""
    if not os.path.exists(LOADED):
        return "this kernel has no loadable modules", "build what is needed into the kernel"
    if _first_line(_DISABLED) == "1":
        return (
            "the kernel takes no modules until the next boot",
            "kernel.modules_disabled was set to 1: reboot",
        )
    if not effective_capabilities() >> _CAP_SYS_MODULE & 1:
        return (
            "this process may not load or remove modules",
            "run as root, and not in a container: load it on the host",
        )
    return None


def normalized(name: str) -> str:
    """The name as the kernel writes it: with underscores."""
    return name.replace("-", "_")


def _name_of(path: str) -> str:
    return normalized(os.path.basename(path.strip()).partition(".ko")[0])


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.readline().strip()
    except OSError:
        return ""
