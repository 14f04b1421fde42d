"""Reads the groups of alternatives as dpkg keeps them: a file for each group, and a symlink for the choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reactor import ResourceError
from reactor.resources import textfile

DATABASE = "/var/lib/dpkg/alternatives"
LINKS = "/etc/alternatives"


class Choice(NamedTuple):
    """One alternative: its priority, and by slave name the path that its slave links lead to."""

    priority: int
    slaves: Mapping[str, str]


class Group(NamedTuple):
    """A group of alternatives: its status, the common name, the links of its slaves, and its choices by path."""

    mode: str
    link: str
    slaves: Mapping[str, str]
    choices: Mapping[str, Choice]


class AlternativesState(NamedTuple):
    """The group, None if there is none; where the choice leads; and whether the common name leads to the choice."""

    group: Group | None
    current: str | None = None
    is_linked: bool = True
    has_path: bool = True
    """Whether the desired path exists."""


def database_file(name: str) -> str:
    """The file of the group ``name``."""
    return f"{DATABASE}/{name}"


def choice_link(name: str) -> str:
    """The symlink that leads to the choice of the group ``name``."""
    return f"{LINKS}/{name}"


def read_group(name: str) -> Group | None:
    """The group; None if there is none. Raises ResourceError when its file is damaged, or can't be read."""
    text = textfile.read(database_file(name))
    if not text:
        return None
    try:
        return parse_group(text)
    except (ValueError, IndexError) as error:
        hint = f"look at it, or start from nothing: update-alternatives --remove-all {name}"
        raise ResourceError(f"{database_file(name)} is damaged: {error}", hint) from error


def parse_group(text: str) -> Group:
    """Parse the file of a group. Raises ValueError or IndexError when it is damaged."""
    lines = text.split("\n")
    mode, link = lines[0], lines[1]
    if mode not in ("auto", "manual"):
        raise ValueError(f"its status is {mode!r}")
    at = 2
    slaves = {}
    while lines[at]:
        slaves[lines[at]] = lines[at + 1]
        at += 2
    at += 1
    choices = {}
    while lines[at]:
        path, priority = lines[at], int(lines[at + 1])
        at += 2
        choices[path] = Choice(priority, {name: lines[at + number] for number, name in enumerate(slaves)})
        at += len(slaves)
    return Group(mode, link, slaves, choices)
