"""The sizes of logical volumes: bytes, or a share of the group."""

from __future__ import annotations

import re
from typing import Annotated, Final, NamedTuple

from pydantic import BeforeValidator, WithJsonSchema

from reactor.resources.tidy.rule import parse_size

ALL_FREE: Final = "100%FREE"
_SHARE = re.compile(r"([1-9][0-9]?|100)%VG")


def _parse(value: object) -> int | str:
    text = str(value)
    if text == ALL_FREE or _SHARE.fullmatch(text):
        return text
    if "%" in text:
        raise ValueError(f"{text!r} is not a size: a share is written as 100%FREE, or as 50%VG")
    if (size := parse_size(value)) <= 0:
        raise ValueError("it must be more than 0")
    return size


VolumeSize = Annotated[int | str, BeforeValidator(_parse), WithJsonSchema({"type": ["string", "integer"]})]
"""Bytes, as a number or as in 512M or 4G; or `100%FREE`, or `50%VG`."""


class Space(NamedTuple):
    """The extents of a group, and how many are free; ``extent`` is the size of one in bytes."""

    extent: int
    total: int
    free: int

    def extents_of(self, size: int | str) -> int | None:
        """The extents of a volume of ``size``, rounded up to whole ones; None for all that are free."""
        if size == ALL_FREE:
            return None
        if isinstance(size, str):
            return self.total * int(size.partition("%")[0]) // 100
        return -(-size // self.extent)


def shown(size: int) -> str:
    """The size in the largest unit that has no fraction: ``1536 MiB``."""
    for unit in ("bytes", "KiB", "MiB"):
        if size % 1024 or not size:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"
