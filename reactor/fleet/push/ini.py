"""Inventories in Ansible's INI format: hosts with variables, ``[group]``, ``[group:children]``, ``[group:vars]``.

A file with one host on each line is such an inventory, too.
"""

from __future__ import annotations

import ast
import re
import shlex
from typing import Any

from reactor.errors import Place
from reactor.fleet.push.errors import InventoryError
from reactor.fleet.push.inventory_builder import ALL, UNGROUPED, InventoryBuilder
from reactor.suggestions import did_you_mean

_SECTION = re.compile(r"\[([^\[\]:]+)(?::(\w+))?\]\s*(?:[#;].*)?")
_PARTS = ("children", "vars")
_COMMENTS = ("#", ";")


def read_ini(text: str, file: str, builder: InventoryBuilder) -> None:
    """Add the inventory ``text``, of the file ``file``, to ``builder``. Raises InventoryError with the place."""
    group, part = UNGROUPED, ""
    declared: set[str] = {ALL, UNGROUPED}
    named: dict[str, Place] = {}
    for number, whole in enumerate(text.splitlines(), start=1):
        line = whole.strip()
        place = Place(file, number, len(whole) - len(whole.lstrip()) + 1)
        if not line or line.startswith(_COMMENTS):
            continue
        if section := _SECTION.fullmatch(line):
            part = section[2] or ""
            if part not in ("", *_PARTS):
                hint = "write [group], [group:children] or [group:vars]"
                raise InventoryError(f"a section can't be a group's {part!r}", hint, place=place)
            group = builder.group(section[1].strip(), place)
            if part == "vars":
                named.setdefault(group, place)
            else:
                declared.add(group)
        elif part == "vars":
            builder.variables(group, dict([_setting(line, place)]))
        elif part == "children":
            child = _without_comment(line)
            builder.child(group, child, place)
            named.setdefault(child, place)
        else:
            _host(line, group if group != ALL else UNGROUPED, builder, place)
    for name, place in named.items():
        if name not in declared:
            hint = did_you_mean(name, sorted(declared)) or f"write [{name}] and its hosts"
            raise InventoryError(f"there is no group {name!r}", hint, place=place)


def _without_comment(line: str) -> str:
    return re.split(r"\s[#;]", line, maxsplit=1)[0].strip()


def _host(line: str, group: str, builder: InventoryBuilder, place: Place) -> None:
    try:
        name, *words = shlex.split(line, comments=True)
    except ValueError as error:
        raise InventoryError(
            f"the line can't be read: {error}".lower(), "close the quote", place=place
        ) from error
    if line.startswith("["):
        hint = "write [group], [group:children] or [group:vars]"
        raise InventoryError(f"{line!r} is not a section", hint, place=place)
    variables: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals):
            column = place.column + max(line.find(word), 0)
            hint = "write one host on each line, and its variables behind it"
            raise InventoryError(
                f"{word!r} is not a variable, as in key=value", hint, place=place._replace(column=column)
            )
        variables[key] = _value(value)
    builder.host(name, group, variables, place)


def _setting(line: str, place: Place) -> tuple[str, Any]:
    key, equals, value = line.partition("=")
    if not (key.strip() and equals):
        raise InventoryError(f"{line!r} is not a variable", "write key=value", place=place)
    return key.strip(), _value(value.strip())


def _value(text: str) -> Any:
    """The value as Ansible reads it: a literal of Python, or else a string."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, (str, int, float, bool, list, dict, type(None))) else text
