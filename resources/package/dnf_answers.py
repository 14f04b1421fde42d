"""Parses the output of dnf."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cmp_to_key
from itertools import zip_longest
from typing import Final

from reactor.resources.package import rpm_versions
from reactor.resources.package.catalog import Offer
from reactor.resources.package.transaction import Others, Versions, moved

QUERY_FORMAT: Final = "%{name}|%{arch}|%{epoch}:%{version}-%{release}\n"
"""The output format of `repoquery`."""
_QUERIED: Final = re.compile(r"^(\S+)\|(\S+)\|(?:0:)?(\S+)$", re.MULTILINE)
_UPGRADE: Final = re.compile(r"^(\S+)\.(\S+)\n?[ \t]+(?:0:)?(\S+)\n?[ \t]+\S+[ \t]*$", re.MULTILINE)
"""An entry of `check-update`, which spans several lines if it is long."""
_OBSOLETING: Final = "\nObsoleting Packages"
_SECTIONS: Final = {
    "Installing": "installed",
    "Installing dependencies": "installed",
    "Installing weak dependencies": "installed",
    "Upgrading": "upgraded",
    "Downgrading": "downgraded",
    "Removing": "removed",
    "Removing dependent packages": "removed",
    "Removing unused dependencies": "removed",
}
"""The headings in the table of a transaction, with the field of `Others` for each."""
_HEADING: Final = re.compile(
    rf"^({'|'.join(_SECTIONS)}|Reinstalling|Skipping packages.*|Transaction Summary):?$", re.MULTILINE
)
_ENTRY: Final = re.compile(
    r"^ (?! )(\S+)\s+(\S+)\s+(?:0:)?(\S+)\s+\S+\s+[\d.]+ ?[kMGKTiB]*[ \t]*$", re.MULTILINE
)
_REPLACED: Final = re.compile(r"^ +replacing +(\S+?)\.(?:noarch|\w+) +(\S+)$", re.MULTILINE)
_LEFT_OUT: Final = re.compile(r"^Ignoring repositories: (.+)$", re.MULTILINE)


def parse_query(text: str) -> dict[str, Offer]:
    """The results of `repoquery`, by name, and by name and architecture as in ``glibc.i686``."""
    return _offers(_QUERIED.findall(text))


def parse_upgrades(text: str) -> dict[str, Offer]:
    """The upgrades in the output of `check-update`, by the same names as in `parse_query`."""
    upgrades, _, _ = text.partition(_OBSOLETING)
    return _offers(_UPGRADE.findall(upgrades))


def left_out(text: str) -> str | None:
    """The repositories that dnf skips, since they are down or badly signed; None if there are none.

    With ``-q``, dnf does not show them.
    """
    found = _LEFT_OUT.search(text)
    return None if found is None else found[1]


def parse_transaction(text: str, asked: Collection[str], before: Versions) -> Others:
    """The changes besides the packages that were ``asked`` for, from the table of a transaction."""
    found: dict[str, list[str]] = {kind: [] for kind in Others._fields}
    found["removed"] = [name for name, _ in _REPLACED.findall(text)]
    headings = list(_HEADING.finditer(text))
    for heading, following in zip_longest(headings, headings[1:]):
        kind = _SECTIONS.get(heading[1])
        if kind is None:
            continue
        section = text[heading.end() : following.start() if following else len(text)]
        for name, architecture, version in _ENTRY.findall(section):
            if name not in asked and f"{name}.{architecture}" not in asked:
                _put(found, kind, (name, version), before)
    return Others(**{kind: tuple(sorted(texts)) for kind, texts in found.items()})


def _put(found: dict[str, list[str]], kind: str, entry: tuple[str, str], before: Versions) -> None:
    """Add the message for one package, given as name and version, from a section for the field ``kind``."""
    name, version = entry
    there = sorted(before.get(name, ()), key=cmp_to_key(rpm_versions.compare))
    if kind in ("upgraded", "downgraded") and there:
        kind, words = moved(name, there[-1], version, rpm_versions.compare)
    else:
        words = name if kind == "removed" else f"{name} {version}"
    found[kind].append(words)


def _offers(found: Iterable[tuple[str, str, str]]) -> dict[str, Offer]:
    """The offers by name; the newest version first."""
    versions: dict[str, set[str]] = {}
    for name, architecture, version in found:
        versions.setdefault(name, set()).add(version)
        versions.setdefault(f"{name}.{architecture}", set()).add(version)
    ordered = {
        name: sorted(some, key=cmp_to_key(rpm_versions.compare), reverse=True)
        for name, some in versions.items()
    }
    return {name: Offer(some[0], tuple(some)) for name, some in ordered.items()}
