"""The files that this process runs: those of its modules, of the program and of libraries."""

from __future__ import annotations

import os
import sys
import time

from reactor.fleet.push.handover import BEGAN

FileStamp = tuple[int, int, int]
"""The device, number and time of change of a file."""


def loaded_files() -> dict[str, FileStamp]:
    """The files of modules, of the program and of libraries in this process. Raises OSError, also if one was replaced."""
    found = {file for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))}
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            _range, mode, _offset, _device, _number, *path = line.rstrip("\n").split(maxsplit=5)
            if "x" in mode:
                found |= {each for each in path if each.startswith("/") and not each.startswith("/memfd:")}
    return {file: file_stamp(file) for file in found}


def file_stamp(file: str) -> FileStamp:
    """The stamp of a file. Raises OSError."""
    found = os.stat(file)
    return found.st_dev, found.st_ino, found.st_ctime_ns


def are_current(files: dict[str, FileStamp]) -> bool:
    """Whether no file has changed since it was imported: an update of reactor, or of Python, needs a new process."""
    if time.time_ns() < BEGAN:
        return False  # the clock was set back, so times prove nothing
    try:
        return all(file_stamp(file) == stamp and stamp[-1] < BEGAN for file, stamp in files.items())
    except OSError:
        return False
