"""What the [Install] section of a unit names to be enabled with it: systemd does not tell that over its bus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

_SECTION = "[Install]"


def also_of(unit: str, files: Iterable[str]) -> tuple[str, ...]:
    """The units of ``Also=`` in the unit file and the drop-ins ``files`` of ``unit``, without those that can't be told."""
    found: dict[str, None] = {}
    for file in files:
        for value in _values(file):
            named = [_expanded(word, unit) for word in value.split()]
            found = {} if not named else found | dict.fromkeys(filter(None, named))
    found.pop(unit, None)
    return tuple(found)


def _values(file: str) -> Iterator[str]:
    """Those of each ``Also=``, by systemd.syntax(7)."""
    text = ""
    with suppress(OSError), open(file, encoding="utf-8", errors="replace") as opened:
        text = opened.read()
    section = ""
    for line in map(str.strip, text.replace("\\\n", " ").splitlines()):
        if line.startswith("["):
            section = line
        elif section == _SECTION and line.partition("=")[0].strip() == "Also":
            yield line.partition("=")[2]


def _expanded(word: str, unit: str) -> str | None:
    """The name with the specifiers of systemd.unit(5) that are about the unit's own name; None with any other."""
    stem, _ = os.path.splitext(unit)
    prefix, _, instance = stem.partition("@")
    for specifier, value in (("%n", unit), ("%N", stem), ("%p", prefix), ("%i", instance)):
        word = word.replace(specifier, value)
    return None if "%" in word else word
