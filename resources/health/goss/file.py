"""The rule ``file``: the file, directory or other entry at a path."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pydantic import AliasChoices, Field

from reactor import ResourceError, fragile_mounts, in_thread
from reactor.hostfs import digest_of, names_of, open_path, open_source
from reactor.resources.health.goss.matchers import Expected, Text
from reactor.resources.health.goss.rule import Rule

_TYPES: Final[tuple[tuple[Callable[[int], bool], str], ...]] = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "symlink"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISCHR, "character-device"),
    (stat.S_ISBLK, "block-device"),
)
_MOST_CONTENT = 64 << 20


class FileRule(Rule):
    """A file, directory or other entry.

    For a symlink, the attributes are its own, and the content is that of its target.
    """

    path: str | None = None
    """The path; by default the key."""
    exists: Expected = True
    mode: Expected = None
    size: Expected = None
    owner: Expected = None
    uid: Expected = None
    group: Expected = None
    gid: Expected = None
    filetype: Expected = None
    linked_to: Expected = None
    contents: Expected = Field(default=None, validation_alias=AliasChoices("contents", "contains"))
    md5: Expected = None
    sha256: Expected = None
    sha512: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Read the file in a thread. Raises ResourceError when its file system does not answer."""
        path = self.path or key
        await fragile_mounts().ask(path)
        return await in_thread(self._find, path, abandon_on_cancel=True)

    def _find(self, path: str) -> Mapping[str, Any]:
        try:
            handle = open_path(path)
        except (FileNotFoundError, NotADirectoryError):
            return {"exists": False}
        try:
            return self._attributes_of(handle, path)
        finally:
            os.close(handle)

    def _attributes_of(self, handle: int, path: str) -> Mapping[str, Any]:
        status = os.fstat(handle)
        found: dict[str, Any] = {
            "exists": True,
            "mode": f"{stat.S_IMODE(status.st_mode):04o}",
            "size": status.st_size,
            "uid": status.st_uid,
            "gid": status.st_gid,
            "filetype": next(name for is_type, name in _TYPES if is_type(status.st_mode)),
        }
        if self.owner is not None or self.group is not None:
            found["owner"], found["group"] = names_of(status.st_uid, status.st_gid)
        if self.linked_to is not None:
            found["linked_to"] = os.readlink("", dir_fd=handle) if stat.S_ISLNK(status.st_mode) else ""
        return found | dict(self._read(path))

    def _read(self, path: str) -> Iterator[tuple[str, Any]]:
        for name in ("md5", "sha256", "sha512"):
            if getattr(self, name) is not None:
                with open(path, "rb", opener=_open_regular) as file:
                    yield name, digest_of(file.fileno(), name)
        if self.contents is not None:
            with open(path, "rb", opener=_open_regular) as file:
                content = file.read(_MOST_CONTENT + 1)
            if len(content) > _MOST_CONTENT:  # a pattern that must not be found could be behind it
                raise ResourceError(
                    f"it has more than {_MOST_CONTENT >> 20} MiB, so its content is not compared"
                )
            yield "contents", Text(content.decode(errors="backslashreplace"))


def _open_regular(path: str, _flags: int) -> int:
    """Open a regular file; refuse a pipe or a device, which may block forever."""
    fd = open_source(path)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise ResourceError("it is not a regular file, so its content is not read")
