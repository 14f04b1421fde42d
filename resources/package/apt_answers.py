"""Parses the output of apt-cache, ``apt-get --simulate`` and ``dpkg-query --search``."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from reactor.resources.package.catalog import Offer
from reactor.resources.package.planner import Compare
from reactor.resources.package.transaction import Others, moved

_PACKAGE = re.compile(r"^(\S+):$", re.MULTILINE)
_CANDIDATE = re.compile(r"^  Candidate: (?!\(none\))(\S+)$", re.MULTILINE)
_VERSION = re.compile(r"^ (?:\*\*\*|   ) (\S+) -?\d+(?: \(phased \d+%\))?$", re.MULTILINE)
"""A version and its priority. Ubuntu adds the percentage of hosts that get a phased update."""
_REVERSE_PROVIDES = re.compile(r"^Reverse Provides: *\n((?:\S+ .*\n?)*)", re.MULTILINE)
_LINE: Final = re.compile(r"^(Inst|Remv|Purg) (\S+)(?: \[([^\]]*)\])?(?: \((\S+))?", re.MULTILINE)
_OWNERS: Final = re.compile(r"^(?!diversion by )(\S+(?:, \S+)*): /", re.MULTILINE)


def parse_policy(text: str) -> dict[str, Offer]:
    """The available packages, by name. A name that other packages only provide, or depend on, has no versions."""
    _, *parts = _PACKAGE.split(text)
    offers = {}
    for name, block in zip(parts[::2], parts[1::2], strict=True):
        if versions := tuple(_VERSION.findall(block)):
            candidate = _CANDIDATE.search(block)
            offers[name] = Offer(None if candidate is None else candidate[1], versions)
    return offers


def parse_providers(text: str) -> tuple[str, ...]:
    """The packages that provide the virtual package in the output of ``apt-cache showpkg``."""
    found = _REVERSE_PROVIDES.search(text)
    return tuple(sorted({line.split()[0] for line in found[1].splitlines()})) if found else ()


def parse_search(text: str) -> frozenset[str]:
    """The packages that own the requested files, without their architectures."""
    return frozenset(name.partition(":")[0] for found in _OWNERS.findall(text) for name in found.split(", "))


def parse_simulation(text: str, asked: Collection[str], compare: Compare) -> Others:
    """The changes besides the packages that were ``asked`` for."""
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
