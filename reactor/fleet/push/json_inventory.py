"""The JSON of ``ansible-inventory --list``, and of Ansible's inventory scripts."""

from __future__ import annotations

import json
from typing import Any

from reactor.errors import Place
from reactor.fleet.push.errors import InventoryError
from reactor.fleet.push.inventory_builder import ALL, UNGROUPED, InventoryBuilder


def read_json(text: str, file: str, builder: InventoryBuilder) -> None:
    """Add the inventory ``text``, of the file or command ``file``, to ``builder``. Raises InventoryError."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise InventoryError(
            f"it is not JSON: {error.msg}", place=Place(file, error.lineno, error.colno)
        ) from error
    except RecursionError as error:
        raise InventoryError("the JSON is nested too deeply", place=Place(file, 1, 1)) from error
    place = Place(file, 1, 1)
    groups = dict(_map(found, "the inventory", place))
    meta = _map(groups.pop("_meta", {}), "_meta", place)
    hostvars = _map(meta.get("hostvars", {}), "_meta.hostvars", place)
    for name, group in groups.items():
        _group(name, {"hosts": group} if isinstance(group, list) else group, hostvars, builder, place)


def _group(name: str, group: Any, hostvars: dict[str, Any], builder: InventoryBuilder, place: Place) -> None:
    builder.group(name, place)
    parts = _map(group, name, place)
    for host in _names(parts.get("hosts", []), f"{name}.hosts", place):
        variables = _map(hostvars.get(host, {}), f"the variables of {host}", place)
        builder.host(host, name if name != ALL else UNGROUPED, variables, place)
    for child in _names(parts.get("children", []), f"{name}.children", place):
        if child != UNGROUPED:
            builder.child(name, child, place)
    builder.variables(name, _map(parts.get("vars", {}), f"{name}.vars", place))


def _map(value: Any, what: str, place: Place) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InventoryError(f"{what} is not a JSON object", place=place)
    return value


def _names(value: Any, what: str, place: Place) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InventoryError(f"{what} is not a list of names", place=place)
    return value
