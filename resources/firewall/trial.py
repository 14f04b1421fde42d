"""Takes a change back that is not confirmed in time, even if this process is killed.

Before the change, the table as it was goes into a file in the state directory, and a small shell waits in the
background. When the time is over, the shell renames the file and lets nft read it. What confirms the change removes the
file first, so one of the two finds it. Once nft has ended, the shell renames the file again. It stays then: as long as it
is there, these rules are not tried again.
"""

from __future__ import annotations

import glob
import os
import subprocess
import time
from contextlib import suppress
from typing import Final, NamedTuple

import trio

from reactor import ResourceError, in_thread
from reactor.hostfs import state_folder
from reactor.resources.firewall.nft import listing
from reactor.resources.firewall.property_types import Confirm
from reactor.resources.firewall.ruleset import removal
from reactor.resources.process import ENVIRONMENT, perform

_KIND: Final = "firewall"
_PENDING, _RETURNING, _REFUSED = "unconfirmed", "returning", "taken-back"
_MODE: Final = 0o600
_GUARD: Final = (
    '(trap "" HUP INT QUIT TERM; sleep "$1"; mv "$2" "$3" 2>/dev/null && nft -f "$3" && mv "$3" "$4") &'
)
"""A shell script. After the seconds in its first argument, it renames the file, lets nft read it, and renames it again."""
_GRACE: Final = 5.0
"""Seconds after the end of the time in which the guard must have acted."""
_INTERVAL: Final = 0.2
"""Seconds between two checks whether the file still exists, and between two attempts to connect."""


class Trial(NamedTuple):
    """The names of the file of one change.

    The change waits for its proof while the file is ``pending``, is taken back while it is ``returning``, and was taken
    back when it is ``refused``.
    """

    pending: str
    returning: str
    refused: str

    @property
    def is_pending(self) -> bool:
        """Whether the change waits for its proof, or is taken back now."""
        return os.path.exists(self._undecided) and not self._is_of_an_earlier_boot

    @property
    def is_refused(self) -> bool:
        """Whether it was taken back, or ended by a restart of the host."""
        return os.path.exists(self.refused) or (
            os.path.exists(self._undecided) and self._is_of_an_earlier_boot
        )

    @property
    def file(self) -> str:
        """The file that says that it was taken back."""
        return self.refused if os.path.exists(self.refused) else self._undecided

    @property
    def _undecided(self) -> str:
        return self.returning if os.path.exists(self.returning) else self.pending

    @property
    def remaining(self) -> float:
        """The seconds that are left for the proof; negative when the time is over."""
        try:
            return float(_first_line(self._undecided)[2]) - time.clock_gettime(time.CLOCK_BOOTTIME)
        except (IndexError, ValueError):
            return -_GRACE

    @property
    def _is_of_an_earlier_boot(self) -> bool:
        return _first_line(self._undecided)[1:2] != [_boot()]


def trial_of(table: str, rules: str) -> Trial | None:
    """The trial of these rules; None without a state directory."""
    if (folder := state_folder(_KIND)) is None:
        return None
    start = f"{folder}/{table}-{rules}"
    return Trial(*(f"{start}.{suffix}" for suffix in (_PENDING, _RETURNING, _REFUSED)))


async def begin(table: str, trial: Trial, confirm: Confirm) -> None:
    """Arm the guard. Must be called before the change. Raises ResourceError or OSError."""
    os.makedirs(os.path.dirname(trial.pending), 0o700, exist_ok=True)
    text = _unconfirmed_return(table, trial) or removal(table) + (await listing(table) or "")
    forget(table)
    until = time.clock_gettime(time.CLOCK_BOOTTIME) + confirm.seconds
    _write(trial.pending, f"# {_boot()} {until:.3f}\n{text}")
    await in_thread(_arm, trial, confirm.seconds)


def _write(path: str, text: str) -> None:
    """Make the file, whole or not at all."""
    new = f"{path}.new"
    with open(
        os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _MODE), "w", encoding="utf-8"
    ) as file:
        file.write(text)
    os.replace(new, path)


def _arm(trial: Trial, seconds: float) -> None:
    subprocess.run(
        ("/bin/sh", "-c", _GUARD, "reactor-firewall-guard", str(seconds), *trial),
        cwd="/",
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
    )


async def prove(trial: Trial, confirm: Confirm) -> None:
    """Wait for the proof. Raises ResourceError when there was none, and the change was taken back."""
    while trial.is_pending and (left := trial.remaining) > 0:
        with trio.move_on_after(left):
            if confirm.connect is not None and await _connects(confirm.connect):
                with suppress(FileNotFoundError):
                    os.unlink(trial.pending)
            else:
                await trio.sleep(_INTERVAL)
    await _guard_has_acted(trial)
    if trial.is_pending:  # the guard was killed, or its nft has failed
        await take_back(trial)
    if trial.is_refused:
        raise refusal(trial, confirm)


async def _guard_has_acted(trial: Trial) -> None:
    """Wait until the guard has taken the change back, but not for ever: it may have been killed."""
    with trio.move_on_after(_GRACE):
        while trial.is_pending:  # noqa: ASYNC110 - another process does it
            await trio.sleep(_INTERVAL)


async def take_back(trial: Trial) -> None:
    """Take the change back at once, as the guard would. Raises ResourceError."""
    with suppress(FileNotFoundError):  # the guard has begun
        os.rename(trial.pending, trial.returning)
    await perform("nft", "-f", trial.returning)
    os.rename(trial.returning, trial.refused)


def refusal(trial: Trial, confirm: Confirm) -> ResourceError:
    """The error of a change that was taken back."""
    reason = "no confirmation" if confirm.connect is None else f"no connection to {confirm.connect}"
    words = f"these rules were taken back: {reason} within {confirm.seconds} s"
    return ResourceError(words, f"correct the rules; to try the same ones again, remove {trial.file}")


def forget(table: str) -> None:
    """Remove the files of all trials of the table; their guards then do nothing."""
    if (folder := state_folder(_KIND)) is not None:
        for path in glob.glob(f"{glob.escape(folder)}/{table}-*"):
            with suppress(FileNotFoundError):
                os.unlink(path)


def _unconfirmed_return(table: str, trial: Trial) -> str | None:
    """The table before an earlier change that waits for its proof, or is taken back now; None if there is none."""
    start = glob.escape(os.path.dirname(trial.pending))
    for path in (
        *glob.iglob(f"{start}/{table}-*.{_PENDING}"),
        *glob.iglob(f"{start}/{table}-*.{_RETURNING}"),
    ):
        first, _, text = _read(path).partition("\n")
        if first.split()[1:2] == [_boot()]:
            return text
    return None


async def _connects(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        await (await trio.open_tcp_stream(host.strip("[]"), int(port))).aclose()
    except OSError:
        return False
    return True


def _first_line(path: str) -> list[str]:
    """The words of the first line: ``#``, the boot, and the end of the time on the clock that counts from the boot."""
    try:
        return _read(path).partition("\n")[0].split()
    except FileNotFoundError:
        return []


def _boot() -> str:
    return _read("/proc/sys/kernel/random/boot_id").strip()


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
