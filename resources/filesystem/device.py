"""Opens a device, and finds its content and its users. Everything goes through one descriptor."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from reactor import ResourceError, read_mounts
from reactor.hostfs import ErrorContext, Parent, is_only_ours, open_source, others_may_replace
from reactor.resources.process import ENVIRONMENT, Command, output_tail, run

_NOTHING, _AMBIGUOUS = 2, 8
"""Exit codes of `blkid -p`."""
_PARTITION: Final = "ID_PART_ENTRY_"
"""What the table of partitions says about the device, not what it holds."""
_BLOCK: Final = 4096
_SWAPS: Final = "/proc/swaps"


class Content(NamedTuple):
    """The signature on a device. ``fstype`` is None for one of another sort, such as a partition table; see ``words``."""

    fstype: str | None
    label: str
    uuid: str
    words: str


@contextmanager
def opened(path: str) -> Iterator[int]:
    """Open the device or file at ``path`` for reading. Raises ResourceError if users other than root could change it."""
    with ErrorContext(f"read {path}"):
        try:
            fd = open_source(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            hint = "require the resource that creates it; a file is created if size is given"
            raise ResourceError(f"the device {path} does not exist", hint, missing=path) from error
        try:
            _refuse_foreign(path, os.fstat(fd))
            yield fd
        finally:
            os.close(fd)


def size_of(fd: int) -> int:
    """The size of the device or file in bytes. Raises OSError."""
    return os.lseek(fd, 0, os.SEEK_END)


async def content_of(fd: int, path: str) -> Content | None:
    """The content of the device, by blkid; None if it is blank. Raises ResourceError when it can't be read."""
    with ErrorContext(f"read {path}"):
        # blkid takes a device that it can't read for a blank one.
        for offset in (0, max(0, size_of(fd) - _BLOCK)):
            os.pread(fd, _BLOCK, offset)
    arguments = ("blkid", "-p", "-o", "udev", f"/proc/self/fd/{fd}")
    done = await run(Command(arguments, "/", ENVIRONMENT, inherited=(fd,)))
    if done.exit_code == _AMBIGUOUS:
        return Content(None, "", "", "several signatures")
    if done.exit_code not in (0, _NOTHING) or done.stderr.strip():
        raise ResourceError(f"cannot read {path}{output_tail(done.stdout, done.stderr)}")
    tags = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    tags = {key: value for key, value in tags.items() if not key.startswith(_PARTITION)}
    return _content(tags) if tags else None


def _content(tags: dict[str, str]) -> Content:
    fstype = tags.get("ID_FS_TYPE")
    table = tags.get("ID_PART_TABLE_TYPE")
    words = f"a table of partitions ({table})" if table is not None else f"{fstype}" if fstype else "data"
    label, uuid = (_decoded(tags.get(f"ID_FS_{key}_ENC", "")) for key in ("LABEL", "UUID"))
    return Content(None if table is not None else fstype, label, uuid, words)


def _decoded(text: str) -> str:
    """A value in which udev has encoded some bytes in hexadecimal."""
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes.fromhex(match[1].decode()), os.fsencode(text))
    return raw.decode(errors="surrogateescape")


def refuse_used(fd: int, path: str) -> None:
    """Raise ResourceError for a device that is mounted, in use as swap, or a part of another device or of an array."""
    found = os.fstat(fd)
    user = _user_of_device(fd, found) if stat.S_ISBLK(found.st_mode) else _user_of_file(found)
    if user is not None:
        raise ResourceError(f"{path} {user}", "stop what uses it: this is never done, even with force")


def _user_of_device(fd: int, found: os.stat_result) -> str | None:
    try:
        # The kernel refuses an exclusive open while anything has claimed the device or a partition of it.
        os.close(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
    else:
        return None
    number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    for mount in read_mounts():
        if mount.device == number:
            return f"is mounted at {mount.point}"
    holders: list[str] = []
    with suppress(OSError):
        holders = sorted(os.listdir(f"/sys/dev/block/{number}/holders"))
    return f"is a part of {', '.join(holders)}" if holders else "is in use"


def _user_of_file(found: os.stat_result) -> str | None:
    with suppress(OSError):
        for name in os.listdir("/sys/block"):
            if name.startswith("loop") and _is_same(found, _line(f"/sys/block/{name}/loop/backing_file")):
                return f"is in use by /dev/{name}"
    with suppress(OSError), open(_SWAPS, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            if _is_same(found, line.split()[0].replace("\\040", " ")):
                return "is in use as swap"
    return None


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""


def _is_same(found: os.stat_result, path: str) -> bool:
    try:
        other = os.stat(path)
    except (OSError, ValueError):
        return False
    return (found.st_dev, found.st_ino) == (other.st_dev, other.st_ino)


def refuse_replaceable(path: str) -> None:
    """Raise ResourceError when users other than root could replace ``path``."""
    with ErrorContext(f"write {path}"), Parent(path) as (directory, base):
        if others_may_replace(directory, base):
            hint = "keep it in a directory that belongs to root"
            raise ResourceError(f"users other than root could replace {path}", hint)


def _refuse_foreign(path: str, found: os.stat_result) -> None:
    if stat.S_ISBLK(found.st_mode):
        return
    if not stat.S_ISREG(found.st_mode):
        raise ResourceError(f"{path} is not a device or file", "name a block device or a regular file")
    if not is_only_ours(found, path):
        raise ResourceError(f"users other than root may write to {path}", "give it to root with mode 0600")
