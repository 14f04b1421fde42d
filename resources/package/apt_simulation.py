"""Reads what ``apt-get --simulate`` and ``dpkg-query --search`` write."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from reactor.resources.package.planner import Compare
from reactor.resources.package.transaction import Others, moved

_LINE: Final = re.compile(r"^(Inst|Remv|Purg) (\S+)(?: \[([^\]]*)\])?(?: \((\S+))?", re.MULTILINE)
_OWNERS: Final = re.compile(r"^(?!diversion by )(\S+(?:, \S+)*): /", re.MULTILINE)


def parse_search(text: str) -> frozenset[str]:
    """The packages that have the files asked for, without their architectures."""
    return frozenset(name.partition(":")[0] for found in _OWNERS.findall(text) for name in found.split(", "))


def parse_simulation(text: str, asked: Collection[str], compare: Compare) -> Others:
    """What would change beside the packages that were ``asked`` for."""
    found: dict[str, list[str]] = {kind: [] for kind in Others._fields}
    for step, name, old, new in _LINE.findall(text):
        if name in asked or (step == "Inst" and old == new):
            continue
        if step != "Inst":
            kind, words = "removed", name
        elif old:
            kind, words = moved(name, old, new, compare)
        else:
            kind, words = "installed", f"{name} {new}"
        found[kind].append(words)
    return Others(**{kind: tuple(sorted(texts)) for kind, texts in found.items()})
