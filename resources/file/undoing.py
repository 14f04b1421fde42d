"""What undoes the change of a file with ``meta: {reverse: true}``."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any, TypeVar

from reactor import ResourceError, in_thread
from reactor.hostfs import FileType, keep_for_undo, open_path
from reactor.resources.file import acl, capabilities
from reactor.resources.file.property_types import mode_properties
from reactor.resources.file.state import FileState

if TYPE_CHECKING:
    from reactor.resources.file.kind import File

_FileT = TypeVar("_FileT", bound="File")


async def reversal_of(file: _FileT, state: FileState) -> _FileT:
    """The resource that makes of the path what ``state`` says. Raises ResourceError when that is impossible."""
    make = type(file)
    if state.type is FileType.ABSENT:
        return make(name=file.name, ensure="absent")
    found: dict[str, Any] = {"owner": str(state.uid), "group": str(state.gid)}
    if state.points_to is not None:
        return make(name=file.name, ensure="link", target=state.points_to, **found)
    await _refuse_lost(file, state)
    found |= mode_properties(state.mode)
    if state.type is FileType.DIRECTORY:
        return make(name=file.name, ensure="directory", **{"setgid": False, "sticky": False} | found)
    if _changes_content(file):
        found["source"] = await keep_for_undo(file.name, file.ref)
    return make(name=file.name, ensure="present", **found)


def is_undone_by(file: File, recorded: File) -> bool:
    """Whether ``recorded``, an earlier reversal, has the content, and no other sort of file takes the place."""
    if recorded.ensure == "absent":
        return True
    if file.ensure not in ("absent", recorded.ensure):
        return False  # `reversal_of` refuses it
    return recorded.ensure != "present" or recorded.source is not None or not _changes_content(file)


def _changes_content(file: File) -> bool:
    """Whether the content of the file is managed, or goes with it."""
    return file.ensure == "absent" or any((file.content is not None, file.source, file.template))


async def _refuse_lost(file: File, state: FileState) -> None:
    """Raise ResourceError if reverse could not restore something of what is there."""
    whole = FileType.DIRECTORY if file.ensure == "directory" else FileType.FILE
    if state.type is not whole and not (file.ensure == "absent" and state.type is FileType.DIRECTORY):
        words = f"{file.name} is {state.type.value}, which reverse could not restore"
        raise ResourceError(words, "remove it yourself, or remove reverse")
    if state.mode & stat.S_ISUID or (state.mode & stat.S_ISVTX and state.type is FileType.FILE):
        words = f"reverse could not restore the setuid or sticky bit of {file.name}"
        raise ResourceError(words, "remove the bit yourself, or remove reverse from meta")
    if lost := await in_thread(_lost_of, file.name, state.type, _changes_content(file)):
        words = f"reverse could not restore the {lost} of {file.name}"
        raise ResourceError(words, "remove it yourself, or remove reverse")


def _lost_of(path: str, is_there: FileType, makes_new: bool) -> str | None:
    """Which attributes would go: all with the file, as a new version is a new file; and capabilities with the owner."""
    if is_there is FileType.DIRECTORY and not makes_new:
        return None
    fd = open_path(path)
    try:
        names = os.listxattr(f"/proc/self/fd/{fd}")
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return None
        raise
    finally:
        os.close(fd)
    if capabilities.ATTRIBUTE in names:
        return "capabilities"
    if not makes_new:
        return None
    if any(name in names for name in (acl.ACCESS, acl.DEFAULT)):
        return "ACL"
    return next((f"extended attribute {name}" for name in names if name.startswith("user.")), None)
