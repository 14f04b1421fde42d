"""Reads what dnf writes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cmp_to_key
from typing import Final

from resources.package.catalog import Offer
from resources.package.versions import rpm

QUERY_FORMAT: Final = "%{name}|%{arch}|%{epoch}:%{version}-%{release}\n"
"""How `repoquery` is asked to write."""
_QUERIED: Final = re.compile(r"^(\S+)\|(\S+)\|(?:0:)?(\S+)$", re.MULTILINE)
_UPGRADE: Final = re.compile(r"^(\S+)\.(\S+)\n?[ \t]+(?:0:)?(\S+)\n?[ \t]+\S+[ \t]*$", re.MULTILINE)
"""An entry of `check-update`, of more than one line where it is long."""
_OBSOLETING: Final = "\nObsoleting Packages"
_LEFT_OUT: Final = re.compile(r"^Ignoring repositories: (.+)$", re.MULTILINE)


def parse_query(text: str) -> dict[str, Offer]:
    """What `repoquery` has found, by name, and by name and architecture as in ``glibc.i686``."""
    return _offers(_QUERIED.findall(text))


def parse_upgrades(text: str) -> dict[str, Offer]:
    """What `check-update` would upgrade to, by the same names."""
    upgrades, _, _ = text.partition(_OBSOLETING)
    return _offers(_UPGRADE.findall(upgrades))


def left_out(text: str) -> str | None:
    """The repositories that are down, or badly signed, and that dnf goes on without: untold with ``-q``."""
    found = _LEFT_OUT.search(text)
    return None if found is None else found[1]


def _offers(found: Iterable[tuple[str, str, str]]) -> dict[str, Offer]:
    """The newest version comes first."""
    versions: dict[str, set[str]] = {}
    for name, architecture, version in found:
        versions.setdefault(name, set()).add(version)
        versions.setdefault(f"{name}.{architecture}", set()).add(version)
    ordered = {
        name: sorted(some, key=cmp_to_key(rpm.compare), reverse=True) for name, some in versions.items()
    }
    return {name: Offer(some[0], tuple(some)) for name, some in ordered.items()}
