"""Names that systemd uses: units and their D-Bus paths, interfaces and signals, and the directories of unit files."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cache, lru_cache
from weakref import WeakKeyDictionary

from reactor.watchers.dbus import Bus, CallError, Match, Scope

SYSTEMD = "org.freedesktop.systemd1"
MANAGER_PATH = "/org/freedesktop/systemd1"
MANAGER = f"{SYSTEMD}.Manager"
UNIT = f"{SYSTEMD}.Unit"

UNIT_TYPES = (
    "automount", "device", "mount", "path", "scope", "service", "slice", "socket", "swap", "target", "timer",
)  # fmt: skip

_SYSTEM_DIRECTORIES = (
    "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
    "/lib/systemd/system",
)  # fmt: skip


_MOST_ALIASES = 10
"""The most symlinks from alias to alias that are followed."""

_NAME = re.compile(r"[A-Za-z0-9:_.\\-][A-Za-z0-9:_.\\@-]*")
_LONGEST_NAME = 255


def is_unit_name(text: str) -> bool:
    """Whether systemd accepts ``text`` as the full name of a unit; see systemd.unit(5)."""
    stem, _, suffix = text.rpartition(".")
    return suffix in UNIT_TYPES and len(text) <= _LONGEST_NAME and _NAME.fullmatch(stem) is not None


@lru_cache(maxsize=4096)
def object_path(unit: str) -> str:
    """The path of a unit on the bus.

    ``_`` and hex digits replace every byte but letters and digits, and a leading digit.
    """
    escaped = re.sub(r"^[0-9]|[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):02x}", unit)
    return f"{MANAGER_PATH}/unit/{escaped}"


def template_of(unit: str) -> str | None:
    """The unit that an instance is made from: ``app@.service`` for ``app@1.service``."""
    stem, _, suffix = unit.rpartition(".")
    prefix, at, _ = stem.partition("@")
    return f"{prefix}@.{suffix}" if at else None


@cache
def drop_in_names(unit: str) -> tuple[str, ...]:
    """The possible names of a directory of drop-ins for ``unit``, without the ``.d``.

    For ``app-web@1.service``: the names of the unit and of its template; the same with ``app-``, for all units that
    begin so; and last the name for the whole type. See systemd.unit(5).
    """
    stem, _, suffix = unit.rpartition(".")
    prefix, at, instance = stem.partition("@")
    begins = [prefix[: dash + 1] for dash in range(len(prefix) - 2, 0, -1) if prefix[dash] == "-"]
    stems = [stem, *begins]
    if at:
        stems = [stem, f"{prefix}@", *begins, *(f"{each}@{end}" for each in begins for end in (instance, ""))]
    return (*(f"{each}.{suffix}" for each in stems), suffix)


def real_name(unit: str, scope: Scope) -> str:
    """The unit of which ``unit`` is an alias, by the symlinks among the unit files of this host; else ``unit`` itself.

    A symlink to a file of another name is an alias, as made by ``Alias=`` in [Install]; see systemd.unit(5).
    """
    for _ in range(_MOST_ALIASES):
        target = next(
            (found for each in directories(scope) if (found := _found(f"{each}/{unit}")) is not None), ""
        )
        name = os.path.basename(target)
        if name == unit or not is_unit_name(name):
            break
        unit = name
    return unit


def _found(path: str) -> str | None:
    """The target of the symlink at the path; an empty string for a file; None if nothing is there."""
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return None
    except OSError:
        return ""


def directories(scope: Scope) -> tuple[str, ...]:
    """The directories of unit files, highest precedence first. Not all need exist."""
    if scope is Scope.SYSTEM:
        return _SYSTEM_DIRECTORIES
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME", f"{home}/.config")
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    data = os.environ.get("XDG_DATA_HOME", f"{home}/.local/share")
    return (
        f"{config}/systemd/user", "/etc/systemd/user", f"{runtime}/systemd/user", "/run/systemd/user",
        f"{data}/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
    )  # fmt: skip


def manager_signal(member: str) -> Match:
    """A signal of the manager itself."""
    return Match(SYSTEMD, MANAGER_PATH, MANAGER, member)


def properties_changed(path: str) -> Match:
    """The signal that a unit's state has changed. It may come before the change, and more than once for one change."""
    return Match(SYSTEMD, path, "org.freedesktop.DBus.Properties", "PropertiesChanged")


async def subscribe(bus: Bus) -> None:
    """Ask systemd for its signals; otherwise it sends only those of our own jobs. Raises as `Bus.call` does."""
    try:
        await bus.call(SYSTEMD, MANAGER_PATH, MANAGER, "Subscribe")
    except CallError as error:
        if error.name != f"{SYSTEMD}.AlreadySubscribed":  # another user of the shared connection did it
            raise


_pinned: WeakKeyDictionary[Bus, set[str]] = WeakKeyDictionary()


async def pin(bus: Bus, unit: str) -> None:
    """Make systemd keep ``unit`` in memory as long as the connection lasts. Raises NoBusError.

    Otherwise each query of a unit that does not run reads its files again, takes milliseconds, and discards how the
    unit ended. Does nothing if the user may not do this, or if the unit does not exist.
    """
    pinned = _pinned.setdefault(bus, set())
    if unit not in pinned:
        with suppress(CallError):
            await bus.call(SYSTEMD, MANAGER_PATH, MANAGER, "RefUnit", "s", unit)
            pinned.add(unit)
