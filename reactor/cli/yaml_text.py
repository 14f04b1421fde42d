"""Values as a YAML document that people like to read, and that reactor reads as the same values again."""

from __future__ import annotations

from typing import Any

import yaml

from reactor.manifest.parser_workarounds import without_yaml11_breaks
from reactor.manifest.scalars import plain_value


class _Dumper(yaml.SafeDumper):
    """PyYAML writes YAML 1.1, and reactor reads 1.2."""


def yaml_text(value: Any) -> str:
    """``value``, as JSON has them, as YAML."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def _represent(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """Several lines as they are; in quotes, what is a text in 1.1 and a number in 1.2: ``1e3``, ``0o17``.

    What ends a line in 1.1 only is escaped: written as it is, it would be followed by an indentation.
    """
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, _style_of(text))


def _style_of(text: str) -> str | None:
    if without_yaml11_breaks(text) != text:
        return '"'
    if "\n" in text:
        return "|"
    return None if _is_text(text) else "'"


def _is_text(text: str) -> bool:
    try:
        return isinstance(plain_value(text), str)
    except ValueError:
        return False


_Dumper.add_representer(str, _represent)
