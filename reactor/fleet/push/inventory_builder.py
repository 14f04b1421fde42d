"""An inventory while it is read: hosts, groups, and their variables, each with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reactor.errors import Place
from reactor.fleet.push.errors import InventoryError
from reactor.fleet.push.inventory_host import Host, with_port
from reactor.fleet.push.ranges import expanded

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
