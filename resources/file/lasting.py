"""The files whose state depends on nothing but the manifest, and what such a check compares."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from reactor import PathState
from reactor.hostfs import is_id
from reactor.resources.download.source import is_url
from reactor.resources.file.property_types import enterable, parse_mode

if TYPE_CHECKING:
    from reactor.resources.file.kind import File

_OF_ALL = frozenset(("name", "ensure", "owner", "group", "alias", "require", "subscribe", "after"))
_PLAIN = _OF_ALL | {"content", "source", "mode"}
_OF_LINK = _OF_ALL | {"target", "force"}
_OF_ABSENT = frozenset(("name", "ensure", "force", "alias", "require", "subscribe", "after"))
_TYPES = {"present": "file", "directory": "directory"}


def lasting_state_of(file: File) -> Sequence[PathState] | None:
    """What a check of ``file`` compares; None if that is more than content, owner, group and mode, or where a link leads."""
    if file.declared.is_covered:
        return None
    given = file.model_fields_set
    match file.ensure:
        case "link":
            is_plain = _OF_LINK.issuperset(given) and None not in map(_fixed_id, _owners(file))
            return _with_directory(PathState(file.name, "link")) if is_plain else None
        case "absent":
            return _with_directory(PathState(file.name, "read")) if _OF_ABSENT.issuperset(given) else None
        case _:
            return _managed(file) if _PLAIN.issuperset(given) else None


def _owners(file: File) -> Sequence[str]:
    """The owner and the group, as far as they are managed."""
    return [each for each in (file.owner, file.group) if each is not None]


def _with_directory(state: PathState) -> Sequence[PathState]:
    """The state, and the names in its directory: a check looks for what a killed run has left there."""
    return state, PathState(os.path.dirname(state.path), "read")


def _managed(file: File) -> Sequence[PathState] | None:
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
