"""The state of a file in terms of its properties, for ``reactor show``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor import in_thread
from reactor.hostfs import FileType, checksum_of, link_text, names_of
from reactor.resources.file.extended import extended_properties
from reactor.resources.file.property_types import mode_properties
from reactor.resources.file.state import FileState


async def description_of(path: str, state: FileState) -> Mapping[str, Any]:
    """The ``state`` of ``path``; owner and group by name if they have one. Raises ResourceError and OSError."""
    if state.type is FileType.ABSENT:
        return {"ensure": "absent"}
    words = {FileType.FILE: "present", FileType.DIRECTORY: "directory"}
    owner, group = names_of(state.uid, state.gid)
    if state.type is FileType.SYMLINK:
        return {"ensure": "link", "target": link_text(path), "owner": owner, "group": group}
    found: dict[str, Any] = {
        "ensure": words.get(state.type, state.type.value),
        "owner": owner,
        "group": group,
    }
    found |= mode_properties(state.mode)
    if state.type in (FileType.FILE, FileType.DIRECTORY):
        found |= extended_properties(path)
    if state.type is FileType.FILE:
        found["checksum"] = await in_thread(checksum_of, path)
    return found
