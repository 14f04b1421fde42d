"""Parses the formats of SOPS into maps, lists and scalars, in the order of the file."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from reactor.secrets.errors import SecretError

METADATA = "sops"
_FLAT = "sops_"
_STEP = re.compile(r"__(map|list)_")
_EXTENSIONS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".env": "dotenv"}


def format_of(path: str) -> str:
    """Return the format that the name of a file tells, as in SOPS: binary for any other name."""
    return next((form for end, form in _EXTENSIONS.items() if path.endswith(end)), "binary")


def parsed(text: str, form: str, what: str) -> dict[str, Any]:
    """Return the tree of a file. Raises SecretError, which quotes nothing of the file."""
    try:
        if form == "yaml":
            tree = yaml.load(text, _Loader)  # noqa: S506 - a safe loader
        else:
            tree = _of_dotenv(text) if form == "dotenv" else json.loads(text)
    except (ValueError, yaml.YAMLError, RecursionError):
        hint = "encrypt it: sops encrypt --in-place FILE; 'format' names another format than its name tells"
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
