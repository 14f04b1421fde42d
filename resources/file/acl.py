"""POSIX access control lists, in the notation of setfacl(1), and in the format of the kernel.

The format is that of ``linux/posix_acl_xattr.h``: a version, and for each entry its tag, permissions and id, in little
endian. See acl(5) for what the entries mean.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
"""The extended attributes that hold the list of a file, and the list that new files in a directory get."""
_VERSION = 2
_HEAD, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_NO_ID = 0xFFFFFFFF
_OWNER, _USER, _OWNING_GROUP, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_TAGS = {
    "u": _USER,
    "user": _USER,
    "g": _GROUP,
    "group": _GROUP,
    "m": _MASK,
    "mask": _MASK,
    "o": _OTHER,
    "other": _OTHER,
}
_LETTERS = {_OWNER: "u", _USER: "u", _OWNING_GROUP: "g", _GROUP: "g", _MASK: "m", _OTHER: "o"}
_BASE = {_USER: _OWNER, _GROUP: _OWNING_GROUP}
"""The tags of entries without a name."""
_BITS = {"r": 4, "w": 2, "x": 1}
_IN_MASK = (_USER, _OWNING_GROUP, _GROUP)


class Entry(NamedTuple):
    """One entry. ``name`` is the user or group of a named entry, else empty."""

    is_default: bool
    tag: int
    name: str
    permissions: int

    def __str__(self) -> str:
        letters = "".join(letter if self.permissions & bit else "-" for letter, bit in _BITS.items())
        return f"{'d:' if self.is_default else ''}{_LETTERS[self.tag]}:{self.name}:{letters}"


def parse_entry(text: str) -> Entry:
    """The entry in ``u:alice:rw``, ``group:web:r-x``, ``m::rx`` or ``d:u:alice:rwx``. Raises ValueError."""
    words = text.strip().split(":")
    is_default = words[0] in ("d", "default")
    words = words[is_default:]
    tag = _TAGS.get(words[0])
    if tag is not None and len(words) == 2 and tag in (_MASK, _OTHER):  # noqa: PLR2004
        words.insert(1, "")
    if tag is None or len(words) != 3:  # noqa: PLR2004
        raise ValueError(f"{text!r} is not an entry of an ACL: write u:alice:rw, g:web:rx or d:u:alice:rwx")
    name, permissions = words[1], _permissions(words[2], text)
    if tag in (_MASK, _OTHER) and name:
        raise ValueError(f"{text!r}: only users and groups have a name")
    tag = tag if name else _BASE.get(tag, tag)
    if not is_default and tag in (_OWNER, _OWNING_GROUP, _OTHER):
        raise ValueError(f"{text!r}: mode sets the permissions of the owner, the owning group and all others")
    return Entry(is_default, tag, name, permissions)


def _permissions(letters: str, text: str) -> int:
    if letters in tuple("01234567"):
        return int(letters)
    found = [letter for letter in letters if letter != "-"]
    if not letters or not set(found) <= _BITS.keys() or len(set(found)) < len(found):
        raise ValueError(
            f"{text!r}: the permissions must be letters of r, w, x and -, or one digit from 0 to 7"
        )
    return sum(_BITS[letter] for letter in found)


def parse_acl(texts: Iterable[str]) -> tuple[Entry, ...]:
    """The entries in ``texts``. Raises ValueError for one that is invalid, or there twice."""
    entries = tuple(parse_entry(text) for text in texts)
    seen = set()
    for entry in entries:
        if entry[:3] in seen:
            raise ValueError(f"{entry} is there twice")
        seen.add(entry[:3])
    return entries


def _wanted(entries: Sequence[Entry], mode: int, *, is_default: bool) -> list[Entry]:
    """The entries of one list, completed from ``mode`` and the other entries; empty if there are none."""
    own = [entry for entry in entries if entry.is_default is is_default]
    if not own:
        return []
    base = {_OWNER: mode >> 6 & 7, _OWNING_GROUP: mode >> 3 & 7, _OTHER: mode & 7}
    tags = {entry.tag for entry in own}
    own += [Entry(is_default, tag, "", bits) for tag, bits in base.items() if tag not in tags]
    if _MASK not in tags and tags & {_USER, _GROUP}:
        own.append(Entry(is_default, _MASK, "", _union(own)))
    return own


def _union(entries: Iterable[Entry]) -> int:
    found = 0
    for entry in entries:
        found |= entry.permissions if entry.tag in _IN_MASK else 0
    return found


def shown_mode(entries: Sequence[Entry], mode: int) -> int:
    """The mode that a file with this ACL shows: its group bits are the mask, as acl(5) says."""
    masks = [each.permissions for each in _wanted(entries, mode, is_default=False) if each.tag == _MASK]
    return mode & ~0o070 | masks[0] << 3 if masks else mode


def encode(
    entries: Sequence[Entry], mode: int, id_of: Callable[[Entry], int], *, is_default: bool
) -> bytes | None:
    """The extended attribute for the entries of one list; None if there are none. ``mode`` is the declared one."""
    wanted = _wanted(entries, mode, is_default=is_default)
    if not wanted:
        return None
    rows = sorted((entry.tag, id_of(entry) if entry.name else _NO_ID, entry.permissions) for entry in wanted)
    return _HEAD.pack(_VERSION) + b"".join(_ENTRY.pack(tag, bits, id_) for tag, id_, bits in rows)


def normal(data: bytes | None) -> bytes | None:
    """``data`` with its entries in the order of `encode`, for a comparison."""
    if data is None or len(data) < _HEAD.size or (len(data) - _HEAD.size) % _ENTRY.size:
        return data
    rows = sorted((tag, id_, bits) for tag, bits, id_ in _ENTRY.iter_unpack(data[_HEAD.size :]))
    return data[: _HEAD.size] + b"".join(_ENTRY.pack(tag, bits, id_) for tag, id_, bits in rows)


def texts_of(data: bytes | None, *, is_default: bool, is_whole: bool = False) -> list[str]:
    """The entries in an extended attribute, as text, with ids for names.

    Those that follow from the mode are left out, except those of a default list, and all with ``is_whole``.
    """
    found = []
    for tag, bits, id_ in _ENTRY.iter_unpack((data or bytes(_HEAD.size))[_HEAD.size :]):
        if tag in _LETTERS and (is_whole or is_default or tag in (_USER, _GROUP, _MASK)):
            found.append(str(Entry(is_default, tag, "" if id_ == _NO_ID else str(id_), bits)))
    return found


def is_user(entry: Entry) -> bool:
    """Whether the entry names a user, not a group."""
    return entry.tag == _USER
