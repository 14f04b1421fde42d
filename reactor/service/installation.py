"""Puts the unit of the service in its place, and takes it away: each step only where it is needed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress

from reactor.atomic_write import replace_file
from reactor.errors import ReactorError
from reactor.service.unit import MARK

UNITS = "/etc/systemd/system"
PACKAGED = "# Part of the package reactor-converge"
"""How the unit begins that the Debian package brings: it gives way to one of ours, and stays when that goes."""
_BOOTED = "/run/systemd/system"
_UNTIL_BOOT = "/run"
_WANTS = "multi-user.target.wants"


class InstallationError(ReactorError):
    """It can't be done; ``hint`` says how to mend that."""

    code = "R0609"


def require_root() -> None:
    """Raises InstallationError when we may not install services."""
    if os.geteuid() != 0:
        raise InstallationError("only root may install or remove a service", "run it with sudo")


def require_systemd() -> None:
    """Raises InstallationError when nothing on this host runs services."""
    if not os.path.isdir(_BOOTED):  # as sd_booted(3) has it
        hint = "have the supervisor of this host start 'reactor run MANIFEST'"
        raise InstallationError("this host was not started by systemd", hint)


def install(name: str, text: str, *, start: bool) -> Iterator[str]:
    """Have the unit in force with ``text``, enabled, and with ``start`` running. Yields what was done.

    An installation that was cut short is noted until the next boot, which puts the unit in force, and done again.
    """
    unit = f"{name}.service"
    path, unfinished = os.path.join(UNITS, unit), os.path.join(_UNTIL_BOOT, f"{unit}.unfinished")
    if changed := _current(unit, path) != text or os.path.lexists(unfinished):
        with open(unfinished, "wb"):
            replace_file(path, text.encode(), 0o644)
        _systemctl("daemon-reload")
        yield f"wrote {path}"
    if _asked("is-enabled", unit) != "enabled":
        _systemctl("enable", "--quiet", unit)
        yield f"enabled {name}: it starts at boot"
    active = _asked("is-active", unit) == "active"
    if not start:
        if changed and active:
            yield f"{name} runs on as it was: 'systemctl restart {unit}' puts the unit in force"
    elif changed or not active:
        _systemctl("restart", unit)
        yield f"{'restarted' if active else 'started'} {name}"
    with suppress(FileNotFoundError):
        os.unlink(unfinished)


def uninstall(name: str) -> Iterator[str]:
    """Have no such unit, nor anything of it running. Yields what was done."""
    unit = f"{name}.service"
    path = os.path.join(UNITS, unit)
    if _current(unit, path) is None:
        yield from _switch_off(name, unit) if _is_packaged(_file_of(unit)) else _clear_away(name, unit)
        return
    _systemctl("disable", "--now", "--quiet", unit)
    os.unlink(path)
    _systemctl("daemon-reload")
    _asked("reset-failed", unit)
    yield f"stopped {name} and removed {path}"


def _switch_off(name: str, unit: str) -> Iterator[str]:
    """Neither run the unit of the package nor start it at boot."""
    if _asked("is-enabled", unit) == "enabled" or _asked("is-active", unit) not in ("inactive", "failed"):
        _systemctl("disable", "--now", "--quiet", unit)
        yield f"stopped {name}; its unit stays with the package"


def _clear_away(name: str, unit: str) -> Iterator[str]:
    """What is left of a unit whose file somebody has removed: a process that runs on, a link that starts it at boot.

    systemctl disables no unit that has no file.
    """
    link = os.path.join(UNITS, _WANTS, unit)
    runs = _asked("show", "--property=ActiveState", "--value", unit) not in ("inactive", "failed", "")
    if runs:
        if not _runs_us(_asked("show", "--property=MainPID", "--value", unit)):
            raise _not_ours(f"the process of {unit}, whose file is gone,")
        _systemctl("stop", unit)
        yield f"stopped {name}, whose unit was gone"
    if is_enabled := os.path.islink(link):
        os.unlink(link)
        yield f"removed {link}, which led nowhere"
    if runs or is_enabled:
        _systemctl("daemon-reload")
        _asked("reset-failed", unit)


def _runs_us(pid: str) -> bool:
    """Whether the process runs reactor; also one that waits to be started again, and has no process, may be ours."""
    if pid in ("", "0"):
        return True
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return True
    return b"reactor" in words and b"run" in words


def _current(unit: str, path: str) -> str | None:
    """The text of the unit that is at ``path``. One that is not ours, there or where packages have theirs, is an error."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        where = _file_of(unit)
        if where not in ("", path) and not _is_packaged(where):  # systemd may still know one that is gone
            raise _not_ours(where) from None
        return None
    if not text.startswith(MARK):
        raise _not_ours(path)
    return text


def _file_of(unit: str) -> str:
    """Where systemd has the unit from, if from anywhere."""
    return _asked("show", "--property=FragmentPath", "--value", unit)


def _is_packaged(path: str) -> bool:
    """Whether the Debian package of reactor has brought this file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(len(PACKAGED)) == PACKAGED
    except OSError:
        return False


def _not_ours(path: str) -> InstallationError:
    hint = "choose another name with --name, or move that unit away"
    return InstallationError(f"{path} is there, and not written by reactor", hint)


def _asked(*arguments: str) -> str:
    """What systemctl answers; an exit code is a part of the answer."""
    return _run(*arguments).stdout.strip()


def _systemctl(*arguments: str) -> None:
    done = _run(*arguments)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        hint = f"'journalctl -u {arguments[-1]} -n 20' tells more"
        raise InstallationError(f"systemctl {' '.join(arguments)}: {said[0]}", hint)


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["systemctl", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
