"""Reads and edits the lines of a mount point in /etc/fstab; all other lines stay as they are (fstab(5))."""

from __future__ import annotations

import os
import os.path
import re
from typing import NamedTuple

FSTAB = "/etc/fstab"
SWAP = "swap"
"""The type in the lines for swap, which mount nothing."""
_GAP = re.compile(r"[ \t\r]+")
_ESCAPED = re.compile(r"\\([0-7]{3})")
_TO_ESCAPE = re.compile(r"[ \t\n\\#]")
_FIELDS = 6
_TAGS = {
    "UUID": "by-uuid",
    "LABEL": "by-label",
    "PARTUUID": "by-partuuid",
    "PARTLABEL": "by-partlabel",
    "ID": "by-id",
}


class Entry(NamedTuple):
    """One line. ``options`` do not include ``defaults``, and their order has no meaning."""

    device: str
    point: str
    fstype: str
    options: frozenset[str] = frozenset()
    dump: int = 0
    passno: int = 0


class SwapArea(NamedTuple):
    """The subject of a line for swap, given by the path of its device or file, without symlinks."""

    path: str


def subject_of(entry: Entry) -> str | SwapArea:
    """The subject of a line: its mount point, or the swap area on its device."""
    return SwapArea(path_of(entry.device)) if entry.fstype == SWAP else entry.point


def unescape(text: str) -> str:
    r"""``text`` with its octal escapes replaced, such as ``\040`` for a space."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)


def entries_at(text: str, place: str | SwapArea) -> tuple[Entry, ...]:
    """The lines for a mount point or a swap area, in order. There should be at most one."""
    entries = map(_parse, text.split("\n"))
    return tuple(entry for entry in entries if entry is not None and subject_of(entry) == place)


def with_entry(text: str, entry: Entry, options: tuple[str, ...]) -> str:
    """``text`` with exactly one line for the subject of ``entry``, in place of the first such line, or at the end.

    ``options`` are the options of ``entry`` in the order in which they are written.
    """
    lines = text.split("\n")
    places = _places(lines, subject_of(entry))
    if not places:
        end = "" if text.endswith("\n") or not text else "\n"
        return f"{text}{end}{_line(entry, options)}\n"
    lines[places[0]] = _line(entry, options)
    return "\n".join(line for number, line in enumerate(lines) if number not in places[1:])


def without_entry(text: str, place: str | SwapArea) -> str:
    """``text`` without the lines for the mount point or swap area."""
    lines = text.split("\n")
    places = _places(lines, place)
    return "\n".join(line for number, line in enumerate(lines) if number not in places)


def _places(lines: list[str], place: str | SwapArea) -> list[int]:
    entries = enumerate(map(_parse, lines))
    return [number for number, entry in entries if entry is not None and subject_of(entry) == place]


def _parse(line: str) -> Entry | None:
    fields = _GAP.split(line.strip(" \t\r"), maxsplit=_FIELDS)
    if fields[0].startswith("#") or len(fields) < 3:  # noqa: PLR2004 - device, mount point and type
        return None
    device, point, fstype, options, dump, passno = (*fields, "", "", "")[:_FIELDS]
    return Entry(
        unescape(device),
        os.path.normpath(unescape(point)),
        fstype,
        frozenset(unescape(option) for option in options.split(",")) - {"", "defaults"},
        _number(dump),
        _number(passno),
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _line(entry: Entry, options: tuple[str, ...]) -> str:
    text = ",".join(options) or "defaults"
    fields = (entry.device, entry.point, entry.fstype, text, str(entry.dump), str(entry.passno))
    return "\t".join(_TO_ESCAPE.sub(lambda match: f"\\{ord(match[0]):03o}", field) for field in fields)


def is_tag(device: str) -> bool:
    """Whether ``device`` is a tag, such as ``UUID=...`` or ``LABEL=...``."""
    return device.partition("=")[0] in _TAGS


def node_of(device: str) -> str:
    """The path that udev creates for a tag; any other device unchanged."""
    tag, _, value = device.partition("=")
    return f"/dev/disk/{_TAGS[tag]}/{value}" if tag in _TAGS else device


def path_of(device: str) -> str:
    """The path of a device or file without symlinks; for a tag without a device, the path that udev would create."""
    return os.path.realpath(node_of(device))
