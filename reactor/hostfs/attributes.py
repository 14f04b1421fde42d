"""The type of a file, and its owner, group and mode, which are set through a descriptor and never through a symlink."""

from __future__ import annotations

import errno
import os
import stat
from enum import Enum
from functools import partial

from reactor.hostfs.disks import changing
from reactor.hostfs.errors import resource_error
from reactor.hostfs.fsync import change_on_disk, is_in_memory
from reactor.hostfs.safe_open import Parent, refuse_foreign_link
from reactor.named_tuple import NamedTuple
from reactor.resource.plan import ResourceError

_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SPECIAL_BITS = 0o7000
PROGRAM_BITS = 0o6000
"""A program with one of these bits runs with the rights of its owner or group, whoever starts it."""
_ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")


class FileType(Enum):
    """The type of the file at a path. The values are words for messages."""

    ABSENT = "absent"
    FILE = "a regular file"
    DIRECTORY = "a directory"
    SYMLINK = "a symlink"
    FIFO = "a FIFO"
    SOCKET = "a socket"
    DEVICE = "a device"


_TYPES = {
    stat.S_IFREG: FileType.FILE,
    stat.S_IFDIR: FileType.DIRECTORY,
    stat.S_IFLNK: FileType.SYMLINK,
    stat.S_IFIFO: FileType.FIFO,
    stat.S_IFSOCK: FileType.SOCKET,
}


def type_of(mode: int) -> FileType:
    """The type of the file with this ``st_mode``."""
    return _TYPES.get(stat.S_IFMT(mode), FileType.DEVICE)


class Attributes(NamedTuple):
    """The owner and group of a file as ids, and its permission bits."""

    uid: int
    gid: int
    mode: int


NOTHING_WANTED = Attributes(0, 0, 0)
"""The attributes of a resource that manages none."""


class Change(NamedTuple):
    """One attribute that differs. ``old`` is empty for a file that does not exist yet."""

    attribute: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"changed {self.attribute} from {self.old} to {self.new}"


class OpenFile:
    """A file that a check has found to be right but for its attributes. It is closed with its last reference.

    In memory, the change concerns the file that was looked at, whatever its name leads to by now. ``device`` is the one
    that it is on.
    """

    __slots__ = ("device", "fd")

    def __init__(self, fd: int, device: int) -> None:
        self.fd = fd
        self.device = device

    def __del__(self) -> None:
        os.close(self.fd)


async def set_attributes(
    path: str, attributes: Attributes, special: int = 0, *, opened: OpenFile | None = None
) -> None:
    """Set owner, group and mode of the file or directory at ``path``. Raises ResourceError.

    A directory keeps its setuid, setgid and sticky bits, except those in ``special``. With a new owner, it loses the ACLs of the
    former one, but for root's. ``opened`` is the file, if a check has just opened it.
    """
    try:
        if opened is not None and is_in_memory(opened.fd, opened.device):
            _set(opened.fd, opened.fd, path, attributes, special)
            return
        with Parent(path) as (directory, base):
            if is_in_memory(directory) and set_attributes_in(path, directory, base, attributes, special):
                return
        await change_on_disk(path, partial(_set_attributes_on_disk, path, attributes, special))
    except OSError as error:
        raise resource_error(error, f"set the attributes of {path}") from error


async def _set_attributes_on_disk(path: str, attributes: Attributes, special: int) -> None:
    with Parent(path) as (directory, base):
        await changing(partial(set_attributes_in, path, directory, base, attributes, special, anywhere=True))


def give(fd: int, attributes: Attributes, path: str) -> None:
    """Set the attributes of the file. Raises ResourceError if the file system ignores them."""
    found = os.fstat(fd)
    if (found.st_uid, found.st_gid) != (attributes.uid, attributes.gid):
        os.fchown(fd, attributes.uid, attributes.gid)  # takes the setgid bit away
    if stat.S_IMODE(os.fstat(fd).st_mode) != attributes.mode:
        os.fchmod(fd, attributes.mode)
    _require_kept(os.fstat(fd), attributes, path)


def refuse_exposed_program(path: str, directory: int, base: str, mode: int) -> None:
    """Raise ResourceError where ``mode`` lets a program run with the rights of its group, and others could put theirs there."""
    if mode & PROGRAM_BITS:
        from reactor.hostfs.extended import refuse_exposed  # noqa: PLC0415 - few files have these bits

        refuse_exposed(path, directory, base, "the rights of its group")


def drop_lists(itself: int | str) -> None:
    """Take the ACLs from a file or directory, given as descriptor or path. Raises OSError."""
    for name in _ACCESS_LISTS:
        try:
            os.removexattr(itself, name)
        except OSError as error:
            if error.errno not in (errno.ENODATA, errno.ENOTSUP):
                raise


def set_attributes_in(
    path: str, directory: int, base: str, attributes: Attributes, special: int, *, anywhere: bool = False
) -> bool:
    """Set the attributes through a descriptor, or a handle if we may not read the file: neither follows a symlink.

    Without ``anywhere``, return False and do nothing if ``base`` is on a file system that is not in memory.
    """
    itself: int | str
    try:
        itself = fd = os.open(base, _READ, dir_fd=directory)
    except OSError:
        fd = os.open(base, _HANDLE, dir_fd=directory)
        itself = f"/proc/self/fd/{fd}"
    try:
        found = os.fstat(fd)
        if not (anywhere or is_in_memory(fd, found.st_dev)):
            return False
        if stat.S_ISLNK(found.st_mode):
            raise ResourceError(f"{path} is a symlink; refusing to set attributes through it")
        if stat.S_ISREG(found.st_mode):
            refuse_exposed_program(path, directory, base, attributes.mode)
        _set(fd, itself, path, attributes, special)
    finally:
        os.close(fd)
    return True


def _set(fd: int, itself: int | str, path: str, attributes: Attributes, special: int) -> None:
    """Set the attributes of the file open at ``fd``, by its descriptor or path ``itself``."""
    found = os.fstat(fd)
    if found.st_nlink > 1:
        refuse_foreign_link(fd, path, found)
    if (found.st_uid, found.st_gid) != (attributes.uid, attributes.gid):
        os.chown(itself, attributes.uid, attributes.gid)
    if found.st_uid not in (0, os.geteuid(), attributes.uid):
        drop_lists(itself)  # its former owner may have kept access by them
    kept = found.st_mode & _SPECIAL_BITS & ~special if stat.S_ISDIR(found.st_mode) else 0
    os.chmod(itself, attributes.mode | kept)
    _require_kept(os.fstat(fd), attributes._replace(mode=attributes.mode | kept), path)


def _require_kept(found: os.stat_result, wanted: Attributes, path: str) -> None:
    """Raise ResourceError unless the file has the attributes that were set: some file systems ignore them."""
    if (has := Attributes(found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))) == wanted:
        return
    words = f"{path} stays with owner {has.uid}, group {has.gid} and mode {has.mode:04o}"
    hint = "its file system keeps no others: ask for these, or change the options that it is mounted with"
    raise ResourceError(f"{words}, whatever it is given", hint)
