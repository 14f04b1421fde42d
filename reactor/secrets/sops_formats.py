"""Parses the formats of SOPS into maps, lists and scalars, in the order of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import yaml

from reactor.secrets.errors import SecretError

METADATA = "sops"
_FLAT = "sops_"
_STEP = re.compile(r"__(map|list)_")
_EXTENSIONS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".env": "dotenv", ".ini": "ini"}


def format_of(path: str) -> str:
    """Return the format that the name of a file implies, as in SOPS: binary for any other name."""
    return next((form for end, form in _EXTENSIONS.items() if path.endswith(end)), "binary")


def parsed(text: str, form: str, what: str) -> dict[str, Any]:
    """Return the tree of a file. Raises SecretError, which quotes nothing of the file."""
    try:
        tree = _READERS.get(form, json.loads)(text)
    except (ValueError, yaml.YAMLError, RecursionError):
        hint = "encrypt it: sops encrypt --in-place FILE; 'format' names another format than its name implies"
        raise SecretError(
            f"{what} is not encrypted by SOPS: not valid as {form}", hint, code="R0132"
        ) from None
    if not isinstance(tree, dict):
        hint = "encrypt it: sops encrypt --in-place FILE"
        raise SecretError(f"{what} is not encrypted by SOPS: not a map", hint, code="R0132")
    return tree


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader that keeps times as text, as the hash needs them, and refuses aliases, which SOPS does not write."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        return {str(key): value for key, value in super().construct_mapping(node, deep=deep).items()}


_TIMES = "tag:yaml.org,2002:timestamp"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, regex) for tag, regex in found if tag != _TIMES]
    for first, found in _Loader.yaml_implicit_resolvers.items()
}


def _of_dotenv(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    flat: dict[str, str] = {}
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise ValueError
        (flat if key.startswith(_FLAT) else found)[key] = value.replace("\\n", "\n")
    if flat:
        found[METADATA] = _unflattened(flat)
    return found


_SECTION = re.compile(r"\[(.+)\]\s*")
_QUOTED = re.compile(r'\s*(?P<quote>"""|`|"|\')(?P<text>.*?)(?P=quote)\s*(?:[;#].*)?', re.DOTALL)
_INLINE_COMMENT = re.compile(r"\s[;#].*")
_TRIPLE = '"""'


def _of_ini(text: str) -> dict[str, Any]:
    """Return a map of the sections. The keys before the first section are in ``DEFAULT``, as in SOPS."""
    found: dict[str, Any] = {}
    section: dict[str, str] = {}
    flat: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in map(str.strip, lines):
        if not line or line[0] in ";#":
            continue
        if (heading := _SECTION.fullmatch(line)) is not None:
            if heading[1] in found:
                raise ValueError  # SOPS keeps both, and a map can't
            section = flat if heading[1] == METADATA else found.setdefault(heading[1], {})
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise ValueError
        if not found and section is not flat:
            section = found.setdefault("DEFAULT", {})
        value = value.strip()
        while value.startswith(_TRIPLE) and value.count(_TRIPLE) == 1:
            if (more := next(lines, None)) is None:
                raise ValueError
            value += f"\n{more}"
        section[key.strip()] = _ini_value(value)
    if flat:
        found[METADATA] = _unflattened({key: value.replace("\\n", "\n") for key, value in flat.items()})
    return found


def _ini_value(text: str) -> str:
    quoted = _QUOTED.fullmatch(text)
    return quoted["text"] if quoted else _INLINE_COMMENT.sub("", text)


def _of_yaml(text: str) -> Any:
    return yaml.load(text, _Loader)  # noqa: S506 - a safe loader


_READERS: dict[str, Callable[[str], Any]] = {"yaml": _of_yaml, "dotenv": _of_dotenv, "ini": _of_ini}


def _unflattened(flat: dict[str, str]) -> dict[str, Any]:
    """Return the metadata: ``sops_age__list_0__map_enc`` is the key ``enc`` of the first item of ``age``."""
    found: dict[str, Any] = {}
    for key, value in flat.items():
        name, *steps = _STEP.split(key.removeprefix(_FLAT))
        if not steps:
            found[name] = value
        elif steps[0::2] == ["list", "map"]:
            index, inner = int(steps[1]), steps[3]
            items = found.setdefault(name, [])
            if index > len(items):
                raise ValueError
            items.extend([{}] * (index == len(items)))
            items[index] = {**items[index], inner: value}
    if found.get("mac_only_encrypted") == "false":
        del found["mac_only_encrypted"]
    return found
