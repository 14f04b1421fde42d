"""Devices by what is written on them, as fstab(5) names them: ``UUID=...``, ``LABEL=...``."""

from __future__ import annotations

import os

_TAGS = {
    "UUID": "by-uuid",
    "LABEL": "by-label",
    "PARTUUID": "by-partuuid",
    "PARTLABEL": "by-partlabel",
    "ID": "by-id",
}


def is_tag(device: str) -> bool:
    """Whether it names a device by what is written on it."""
    return device.partition("=")[0] in _TAGS


def node_of(device: str) -> str:
    """Where udev puts a device of this tag; anything else as it is."""
    tag, _, value = device.partition("=")
    return f"/dev/disk/{_TAGS[tag]}/{value}" if tag in _TAGS else device


def path_of(device: str) -> str:
    """The path of a device or file without symlinks; that of a tag which udev does not know is that udev would make."""
    return os.path.realpath(node_of(device))
