"""The files whose state depends on nothing but the manifest, and what such a check compares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
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
_TYPES = {"present": "file", "directory": "directory"}


def lasting_state_of(file: File) -> Sequence[PathState] | None:
    """What a check of ``file`` compares; None if that is more than content, owner, group and mode."""
    if not _PLAIN.issuperset(file.model_fields_set) or file.declared.is_covered:
        return None
    ensure, content = file.ensure, file.content
    if (attributes := _attributes(ensure, file.owner, file.group, file.mode)) is None:
        return None
    state = PathState(file.name, _TYPES[ensure], *attributes)
    if content is not None:
        return (state.holding(content.encode()),)
    source = file.source or ""
    return None if is_url(source) else (state._replace(source=source),)


@lru_cache(maxsize=64)
def _attributes(
    ensure: str, owner: str | None, group: str | None, mode: str | None
) -> tuple[int, int, int] | None:
    """Mode, user id and group id, if no change of the user database can change these ids."""
    uid, gid = _fixed_id(owner), _fixed_id(group)
    if ensure not in _TYPES or uid is None or gid is None or mode is None:
        return None
    bits = parse_mode(mode)
    return enterable(bits) if ensure == "directory" else bits, uid, gid


def _fixed_id(account: str | None) -> int | None:
    if account == "root":
        return 0
    return int(account) if account is not None and is_id(account) else None
