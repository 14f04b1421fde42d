"""Runs the programs of LVM, and reads their reports."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Final

from reactor import ResourceError
from reactor.resources.process import ENVIRONMENT, Command, missing_rights, output_tail, run

CONTROL: Final = "/dev/mapper/control"
MISC: Final = "/proc/misc"
_BACKUPS: Final = "/etc/lvm/backup"
_WITHOUT: Final = ("--driverloaded", "n")
"""Lets the programs work on what is on the devices only."""
_REPORT: Final = ("--reportformat", "json", "--units", "b", "--nosuffix", "-o")


def backup_of(group: str) -> str:
    """The file that LVM writes whenever it has changed the group on this host."""
    return f"{_BACKUPS}/{group}"


async def has_device_mapper() -> bool:
    """Whether the kernel has the device mapper, without which no volume can be active. Loads its module if it can."""
    if _is_there():
        return True
    return (await run(Command(("dmsetup", "version"), "/", ENVIRONMENT))).exit_code == 0


def _is_there() -> bool:
    try:
        with open(MISC, encoding="ascii") as file:
            is_loaded = any(line.split()[-1:] == ["device-mapper"] for line in file)
    except OSError:
        return False
    return is_loaded and os.path.exists(CONTROL)


async def report(program: str, fields: Sequence[str], *arguments: str, mapper: bool) -> list[dict[str, str]]:
    """The rows that ``program`` reports, such as vgs. Sizes are in bytes.

    ``mapper`` is what `has_device_mapper` says. Raises ResourceError when they can't be read.
    """
    words = (program, *(() if mapper else _WITHOUT), *_REPORT, ",".join(fields), *arguments)
    done = await run(Command(words, "/", ENVIRONMENT))
    if done.exit_code != 0:
        raise _failure(program, done.exit_code, done.stdout, done.stderr)
    try:
        (found,) = json.loads(done.stdout)["report"]
        (rows,) = found.values()
    except (ValueError, KeyError, TypeError):
        raise ResourceError(f"the report of {program} can't be read, or is too long") from None
    return list(rows)


async def change(*words: str, mapper: bool) -> None:
    """Run a program that changes a group, to its end even if this process is killed. Raises ResourceError."""
    program, *rest = words
    arguments = (program, *(() if mapper else _WITHOUT), *rest)
    done = await run(Command(arguments, "/", ENVIRONMENT, is_protected=True))
    if done.exit_code != 0:
        raise _failure(program, done.exit_code, done.stdout, done.stderr)


def _failure(program: str, code: int, stdout: str, stderr: str) -> ResourceError:
    return ResourceError(
        f"{program} failed with exit code {code}{output_tail(stdout, stderr)}", missing_rights()
    )
