"""The names that LVM allows."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

_NAME = re.compile(r"[a-zA-Z0-9+_][a-zA-Z0-9+_.-]{0,126}")
_RESERVED = re.compile(
    r"(snapshot|pvmove).*|.*_(mlog|mimage|pmspare|rimage|rmeta|vorigin|tdata|tmeta|cdata|cmeta|corig|cvol|wcorig|imeta|vdata).*"
)
"""Names of the volumes that LVM makes for itself."""


def check_group_name(text: str) -> str:
    """``text``, if it may be the name of a group. Raises ValueError."""
    if not _NAME.fullmatch(text):
        raise ValueError(
            f"{text!r} is not a name: it has letters, digits and +_.-, and no - or . at its start"
        )
    return text


def check_volume_name(text: str) -> str:
    """``text``, if it names a group and a volume. Raises ValueError."""
    group, _, volume = text.partition("/")
    if not volume:
        raise ValueError(f"{text!r} is not a volume: write the group and the volume, as in vg0/data")
    check_group_name(group)
    check_group_name(volume)
    if _RESERVED.fullmatch(volume):
        raise ValueError(f"{volume!r} is a name that LVM has for its own volumes")
    return text


GroupName = Annotated[str, AfterValidator(check_group_name)]
"""The name of a volume group."""
