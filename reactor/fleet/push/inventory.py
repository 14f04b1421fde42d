"""The hosts of a push: from an inventory file, from a command, or from the command line."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

import trio

from reactor.errors import Place
from reactor.fleet.push.errors import InventoryError
from reactor.fleet.push.ini import read_ini
from reactor.fleet.push.inventory_builder import ALL, UNGROUPED, InventoryBuilder
from reactor.fleet.push.inventory_host import Host
from reactor.fleet.push.yaml_inventory import read_yaml

_MOST = 64 << 20
_COMMAND_TIMEOUT = 120
_LOOKS_LIKE_YAML = re.compile(r"(---|[^\s#;\[{][^#;]*:)\s*(#.*)?")

Opener = Callable[[str, int], int]


def read_inventory(path: str, opener: Opener) -> list[Host]:
    """Read an inventory file. ``opener`` may refuse a file that others can change.

    Raises InventoryError with the place, OSError, and what ``opener`` raises.
    """
    if os.path.isdir(path):
        hint = "name one file, or use --inventory-command 'ansible-inventory -i DIRECTORY --list'"
        raise InventoryError(f"the inventory {path} is a directory", hint)
    with open(path, "rb", opener=opener) as file:
        content = file.read(_MOST + 1)
    return hosts_in(_decoded(content, path), path)


def hosts_in(text: str, file: str) -> list[Host]:
    """Return the hosts of an inventory in any of the formats. ``file`` names it in errors."""
    builder = InventoryBuilder()
    _reader_for(text, file)(text, file, builder)
    return builder.hosts()


async def inventory_of(command: str) -> list[Host]:
    """Run a command that prints an inventory, and read that. Raises InventoryError."""
    words = _words_of(command)
    done = None
    with trio.move_on_after(_COMMAND_TIMEOUT):
        try:
            done = await trio.run_process(words, stdin=subprocess.DEVNULL, capture_stdout=True, capture_stderr=True, check=False)  # fmt: skip
        except OSError as error:
            raise InventoryError(f"the inventory command can't run: {words[0]}: {error.strerror}") from error
    if done is None:
        raise InventoryError(f"the inventory command took longer than {_COMMAND_TIMEOUT} s")
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise InventoryError(f"the inventory command ended with exit code {done.returncode}: {lines[-1]}")
    return hosts_in(_decoded(done.stdout, words[0]), words[0])


def _words_of(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InventoryError(
            f"the inventory command can't be read: {error}".lower(), "close the quote"
        ) from error
    if not words:
        raise InventoryError("the inventory command is empty", "write it as 'ansible-inventory --list'")
    return words


def hosts_named(names: Iterable[str]) -> list[Host]:
    """Return the hosts of the command line: each word is a host, or several with commas; ``user@host:port`` works."""
    builder = InventoryBuilder()
    for name in (each for word in names for each in word.split(",") if each):
        user, at, rest = name.rpartition("@")
        builder.host(rest, UNGROUPED, {"ansible_user": user} if at else {}, None)
    return builder.hosts()


def _reader_for(text: str, file: str) -> Callable[[str, str, InventoryBuilder], None]:
    suffix = os.path.splitext(file)[1].lower()
    first = next(
        (line.strip() for line in text.splitlines() if line.strip() and line.strip()[0] not in "#;"), ""
    )
    if first.startswith("{"):
        return read_json
    if suffix in (".yaml", ".yml"):
        return read_yaml
    if suffix in (".ini", ".cfg"):
        return read_ini
    return read_yaml if _LOOKS_LIKE_YAML.fullmatch(first) else read_ini


def _decoded(content: bytes, file: str) -> str:
    if len(content) > _MOST:
        raise InventoryError("the inventory is too large", place=Place(file, 1, 1))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InventoryError("the inventory is not UTF-8", place=Place(file, line, 1)) from error


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
