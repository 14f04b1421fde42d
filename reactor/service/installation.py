"""Installs and removes the unit of the service. Each step is done only if it is needed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reactor.atomic_write import replace_file
from reactor.errors import ReactorError
from reactor.service.unit import MARK

UNITS = "/etc/systemd/system"
PACKAGED = "# Part of the package reactor-converge"
"""The first line of the unit in the Debian package. Our unit overrides it; it stays when ours is removed."""
_BOOTED = "/run/systemd/system"
_UNTIL_BOOT = "/run"
_WANTS = "multi-user.target.wants"


class InstallationError(ReactorError):
    """The service can't be installed or removed; ``hint`` says how to fix that."""

    code = "R0609"


class StartError(InstallationError):
    """The service is installed, and can't be started."""


def require_root() -> None:
    """Raise InstallationError unless this user may install services."""
    if os.geteuid() != 0:
        raise InstallationError("only root may install or remove a service", "run it with sudo")


def require_systemd() -> None:
    """Raise InstallationError unless systemd runs on this host."""
    if not os.path.isdir(_BOOTED):  # as in sd_booted(3)
        hint = "start 'reactor run MANIFEST' with the supervisor of this host"
        raise InstallationError("this host was not started by systemd", hint)


def install(name: str, text: str, *, start: bool) -> Iterator[str]:
    """Install the unit with ``text``, enable it, and start it if ``start``. Yield a sentence for each step done.

    An interrupted installation is marked until the next boot, so that the next call completes it.
    """
    unit = f"{name}.service"
    path, unfinished = os.path.join(UNITS, unit), os.path.join(_UNTIL_BOOT, f"{unit}.unfinished")
    if changed := _current(unit, path) != text or os.path.lexists(unfinished):
        with _saying(f"write {path}"), open(unfinished, "wb"):
            replace_file(path, text.encode(), 0o644)
        _systemctl("daemon-reload")
        yield f"wrote {path}"
    if _asked("is-enabled", unit) != "enabled":
        _systemctl("enable", "--quiet", unit)
        yield f"enabled {name}: it starts at boot"
    active = _asked("is-active", unit) == "active"
    if not start:
        if changed and active:
            yield f"{name} still runs with the old unit: 'systemctl restart {unit}' applies the new one"
    elif changed or not active:
        try:
            _systemctl("restart", unit)
        except InstallationError as error:
            raise StartError(error.message, error.hint) from error
        yield f"{'restarted' if active else 'started'} {name}"
    with suppress(FileNotFoundError):
        os.unlink(unfinished)


def uninstall(name: str) -> Iterator[str]:
    """Stop the service, and remove its unit. Yield a sentence for each step done."""
    unit = f"{name}.service"
    path = os.path.join(UNITS, unit)
    if _current(unit, path) is None:
        yield from _switch_off(name, unit) if _is_packaged(_file_of(unit)) else _clear_away(name, unit)
        return
    _systemctl("disable", "--now", "--quiet", unit)
    with _saying(f"remove {path}"):
        os.unlink(path)
    _systemctl("daemon-reload")
    _asked("reset-failed", unit)
    yield f"stopped {name} and removed {path}"


def _switch_off(name: str, unit: str) -> Iterator[str]:
    """Stop and disable the unit of the Debian package."""
    if _asked("is-enabled", unit) == "enabled" or _asked("is-active", unit) not in ("inactive", "failed"):
        _systemctl("disable", "--now", "--quiet", unit)
        yield f"stopped {name}; its unit stays with the package"


def _clear_away(name: str, unit: str) -> Iterator[str]:
    """Remove the remains of a unit whose file was removed: a running process, a link that starts it at boot.

    systemctl can't disable a unit that has no file.
    """
    link = os.path.join(UNITS, _WANTS, unit)
    runs = _asked("show", "--property=ActiveState", "--value", unit) not in ("inactive", "failed", "")
    if runs:
        if not _runs_us(_asked("show", "--property=MainPID", "--value", unit)):
            raise _not_ours(f"the process of {unit}, whose file was removed,")
        _systemctl("stop", unit)
        yield f"stopped {name}, whose unit was removed"
    if is_enabled := os.path.islink(link):
        with _saying(f"remove {link}"):
            os.unlink(link)
        yield f"removed {link}, a broken link"
    if runs or is_enabled:
        _systemctl("daemon-reload")
        _asked("reset-failed", unit)


def _runs_us(pid: str) -> bool:
    """Whether the process runs reactor. True without a process: it may be our service, waiting for a restart."""
    if pid in ("", "0"):
        return True
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return True
    return b"reactor" in words and (b"run" in words or b"follow" in words)


def _current(unit: str, path: str) -> str | None:
    """The text of the unit at ``path``; None if there is none.

    Raises InstallationError if another program has written a unit of this name, at ``path`` or elsewhere, or if the unit
    is masked.
    """
    if os.path.realpath(path) == os.devnull:
        raise InstallationError(f"{unit} is masked", f"let it be started again: systemctl unmask {unit}")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        where = _file_of(unit)
        # systemd may still know the unit of a removed file, so `where` may be `path`.
        if where not in ("", path) and not _is_packaged(where):
            raise _not_ours(where) from None
        return None
    except OSError:  # such as a directory
        raise _not_ours(path) from None
    if not text.startswith(MARK):
        raise _not_ours(path)
    return text


def _file_of(unit: str) -> str:
    """The file that systemd has loaded the unit from; empty for none."""
    return _asked("show", "--property=FragmentPath", "--value", unit)


def _is_packaged(path: str) -> bool:
    """Whether this file is from the Debian package of reactor."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(len(PACKAGED)) == PACKAGED
    except OSError:
        return False


def _not_ours(path: str) -> InstallationError:
    hint = "choose another name with --name, or remove that unit"
    return InstallationError(f"{path} exists, and was not written by reactor", hint)


@contextmanager
def _saying(doing: str) -> Iterator[None]:
    """Turn an OSError in the block into an InstallationError."""
    try:
        yield
    except OSError as error:
        raise InstallationError(
            f"cannot {doing}: {error.strerror}", f"see why: ls -ld {UNITS}; df {UNITS}"
        ) from error


def _asked(*arguments: str) -> str:
    """The output of systemctl; the exit code is ignored."""
    return _run(*arguments).stdout.strip()


def _systemctl(*arguments: str) -> None:
    done = _run(*arguments)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        hint = f"see 'journalctl -u {arguments[-1]} -n 20'"
        raise InstallationError(f"systemctl {' '.join(arguments)}: {lines[0]}", hint)


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["systemctl", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
