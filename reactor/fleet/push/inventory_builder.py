"""An inventory while it is read: hosts, groups, and their variables, each with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from string import ascii_letters
from typing import Any

from reactor.errors import Place
from reactor.fleet.push.errors import InventoryError
from reactor.fleet.push.inventory_host import Host, with_port

ALL, UNGROUPED = "all", "ungrouped"
_GROUP = re.compile(r"[^\s\[\]:!&,*?\"'/-][^\s\[\]:!&,*?\"'/]*")


@dataclass
class _Group:
    hosts: dict[str, None] = field(default_factory=dict)
    children: dict[str, Place | None] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)


class InventoryBuilder:
    """Collects the entries of an inventory, in its order. Every method raises InventoryError, with the place."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {ALL: _Group(), UNGROUPED: _Group()}
        self._hosts: dict[str, dict[str, Any]] = {}
        self._places: dict[str, Place | None] = {}

    def group(self, name: str, place: Place | None) -> str:
        """Add a group, if it is new; return its name."""
        if not _GROUP.fullmatch(name):
            raise InventoryError(
                f"{name!r} is not the name of a group", "use letters, digits and '_'", place=place
            )
        self._groups.setdefault(name, _Group())
        return name

    def host(self, pattern: str, group: str, variables: Mapping[str, Any], place: Place | None) -> None:
        """Add the hosts that ``pattern`` stands for to a group, with these variables."""
        pattern, port = with_port(pattern)
        variables = variables if port is None else {"ansible_port": port, **variables}
        try:
            names = expanded(pattern)
        except ValueError as error:
            raise InventoryError(str(error), place=place) from error
        for name in names:
            known = self._hosts.get(name, {}).get("ansible_port")
            if port is not None and known is not None and str(known) != port:
                hint = "give each a name in an inventory: NAME ansible_host=ADDRESS ansible_port=PORT"
                raise InventoryError(f"{name} is here with the ports {known} and {port}", hint, place=place)
            self._hosts.setdefault(name, {}).update(variables)
            self._places.setdefault(name, place)
            self._groups[group].hosts[name] = None

    def child(self, parent: str, child: str, place: Place | None) -> None:
        """Make a group a child of another."""
        self._groups[self.group(parent, place)].children[self.group(child, place)] = place

    def variables(self, group: str, variables: Mapping[str, Any]) -> None:
        """Add variables to a group."""
        self._groups[group].variables.update(variables)

    def hosts(self) -> list[Host]:
        """All hosts, in the order of the inventory. A host's own variables win, then those of its innermost groups."""
        depths = self._depths()
        members = {name: self._members(name) for name in depths}
        made = []
        for name, own in self._hosts.items():
            groups = sorted(
                (group for group in members if group not in (ALL, UNGROUPED) and name in members[group]),
                key=lambda group: (depths[group], group),
            )
            variables = dict(self._groups[ALL].variables)
            for group in groups or (UNGROUPED,):
                variables |= self._groups[group].variables
            try:
                made.append(Host.of(name, tuple(sorted(groups)), variables | own))
            except ValueError as error:
                raise InventoryError(str(error), place=self._places[name]) from error
        return made

    def _members(self, group: str) -> set[str]:
        return {host for each in {group, *self._below(group)} for host in self._groups[each].hosts}

    def _below(self, group: str) -> set[str]:
        """All groups below ``group``; it is one of them if it is below itself."""
        found: set[str] = set()
        todo = [group]
        while todo:
            new = self._groups[todo.pop()].children.keys() - found
            found |= new
            todo += new
        return found

    def _depths(self) -> dict[str, int]:
        """The depth of each group below the top. Raises InventoryError for a group that is its own child."""
        depths, deeper = dict.fromkeys(self._groups, 0), dict[str, int]()
        for _ in self._groups:
            deeper = {
                child: depths[parent] + 1
                for parent, child in self._edges()
                if depths[child] <= depths[parent]
            }
            if not deeper:
                return depths
            depths |= deeper
        group, place = next(
            (child, self._groups[parent].children[child])
            for parent, child in self._edges()
            if parent in self._below(child)
        )
        hint = "remove it from the children of the group in this place"
        raise InventoryError(f"the group {group!r} is below itself", hint, place=place)

    def _edges(self) -> Iterable[tuple[str, str]]:
        return [(name, child) for name, group in self._groups.items() for child in group.children]


_RANGE = re.compile(r"\[([^\[\]:]*):([^\[\]:]*)(?::([^\[\]:]*))?\]")
_MOST = 100_000


def expanded(name: str) -> list[str]:
    """Return all names that the ranges in ``name`` give. Raises ValueError for a range that can't be understood."""
    parts: list[list[str]] = []
    position = total = 0
    for found in _RANGE.finditer(name):
        parts += [[name[position : found.start()]], _range(*found.groups(), whole=found[0])]
        position = found.end()
    parts.append([name[position:]])
    total = 1
    for part in parts:
        total *= len(part)
    if total > _MOST:
        raise ValueError(f"{name!r} stands for more than {_MOST} hosts")
    rest = "".join(part[0] for part in parts[::2])
    if "[" in rest or "]" in rest:
        raise ValueError(f"{name!r} has a bracket that belongs to no range, as in web[01:20]")
    return ["".join(each) for each in product(*parts)]


def _range(first: str, last: str, step: str | None, *, whole: str) -> list[str]:
    wide = step or "1"
    first = first or "0"
    if not (wide.isascii() and wide.isdecimal() and 0 < int(wide) <= _MOST):
        raise ValueError(f"{whole}: the step is not a number")
    if first.isascii() and last.isascii() and first.isdecimal() and last.isdecimal():
        return _numbers(first, last, int(wide), whole)
    if len(first) == len(last) == 1 and first.isascii() and last.isascii() and (first + last).isalpha():
        letters = ascii_letters[ascii_letters.index(first) : ascii_letters.index(last) + 1 : int(wide)]
        if not letters:
            raise ValueError(f"{whole}: the range ends before it begins")
        return list(letters)
    raise ValueError(f"{whole} is not a range of numbers or letters")


def _numbers(first: str, last: str, step: int, whole: str) -> list[str]:
    width = len(first) if first.startswith("0") and len(first) > 1 else 0
    if max(len(first), len(last)) > 9 or int(last) - int(first) > _MOST * step:  # noqa: PLR2004 - before int() is slow
        raise ValueError(f"{whole} is too large")
    if int(first) > int(last):
        raise ValueError(f"{whole}: the range ends before it begins")
    if width and len(last) < width:
        raise ValueError(f"{whole}: the last number has fewer digits than the first")
    return [str(number).zfill(width) for number in range(int(first), int(last) + 1, step)]
