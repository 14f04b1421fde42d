"""The files whose state depends on nothing but the manifest, and what such a check compares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from reactor import PathState
from reactor.hostfs import is_id
from reactor.resources.download.source import is_url
from reactor.resources.file.property_types import enterable, parse_mode

if TYPE_CHECKING:
    from reactor.resources.file.kind import File

_PLAIN = frozenset(
    (
        "name",
        "ensure",
        "content",
        "source",
        "owner",
        "group",
        "mode",
        "alias",
        "require",
        "subscribe",
        "after",
    )
)


def lasting_state_of(file: File) -> Sequence[PathState] | None:
    """What a check of ``file`` compares; None if that is more than content, owner, group and mode."""
    if not _PLAIN.issuperset(file.model_fields_set) or file.declared.is_covered:
        return None
    uid, gid = _fixed_id(file.owner), _fixed_id(file.group)
    if uid is None or gid is None or file.mode is None:
        return None
    mode = parse_mode(file.mode)
    if file.ensure == "directory":
        return (PathState(file.name, "directory", enterable(mode), uid, gid),)
    return (
        _with_content(file, PathState(file.name, "file", mode, uid, gid))
        if file.ensure == "present"
        else None
    )


def _with_content(file: File, state: PathState) -> Sequence[PathState] | None:
    if file.content is not None:
        data = file.content.encode()
        return (state._replace(size=len(data), digest=sha256(data).hexdigest()),)
    if file.source is None:
        return (state,)
    return None if is_url(file.source) else (state._replace(source=file.source),)


@lru_cache(maxsize=64)
def _fixed_id(account: str | None) -> int | None:
    """The id of an account that no change of the user database can change; else None."""
    if account == "root":
        return 0
    return int(account) if account is not None and is_id(account) else None
