"""Reads why the kernel refused a mount: mount(8) reports only the number of the error, and the kernel logs the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reactor import ResourceError

_LOG = "/dev/kmsg"
_LONGEST_RECORD = 8192
_MOST_LINES = 3
_MOST_RECORDS = 1000
"""The most records to read: others may log without end meanwhile."""


@contextmanager
def explaining_mount(device: str, fstype: str) -> Iterator[None]:
    """Add what the kernel logs about the mount in the block to a ResourceError that ends it.

    Where the log can't be read, as in a container, the error stays as it is.
    """
    log = -1
    with suppress(OSError):
        log = os.open(_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(log, 0, os.SEEK_END)
    try:
        yield
    except ResourceError as error:
        lines = [line for line in _messages(log) if _is_about(line, device, fstype)]
        if not lines:
            raise
        reasons = "".join(f"\n  the kernel: {line}" for line in lines[-_MOST_LINES:])
        hint = error.hint or "correct options, fstype or device"
        raise ResourceError(f"{error.message}{reasons}", hint) from error
    finally:
        if log >= 0:
            os.close(log)


def _is_about(line: str, device: str, fstype: str) -> bool:
    """Whether the line is about such a file system: others may be mounted at the same time."""
    source = line.partition(":")[0].lower()
    return fstype.lower() in source or os.path.basename(device).lower() in source.split()


def _messages(log: int) -> Iterator[str]:
    """The first line of each record that the kernel has logged since; see the kernel's ABI/testing/dev-kmsg."""
    if log < 0:
        return
    for _ in range(_MOST_RECORDS):
        try:
            record = os.read(log, _LONGEST_RECORD)
        except BrokenPipeError:  # records were overwritten before they were read
            continue
        except OSError:
            return
        text = record.decode(errors="replace").partition(";")[2].partition("\n")[0]
        yield text.removesuffix("\\x0a")  # an escaped newline, which some file systems end with
