"""Writes values as a readable YAML document that reactor reads back as the same values."""

from __future__ import annotations

from typing import Any

import yaml

from reactor.manifest.parser_workarounds import without_yaml11_breaks
from reactor.manifest.scalars import plain_value


class _Dumper(yaml.SafeDumper):
    """Writes YAML 1.2, which reactor reads; PyYAML writes YAML 1.1."""


def yaml_text(value: Any) -> str:
    """A JSON-like ``value`` as YAML."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def _represent(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """A string of several lines as a block; quoted if YAML 1.2 would read it as a number: ``1e3``, ``0o17``.

    A character that ends a line only in YAML 1.1 is escaped: PyYAML would write an indentation after it.
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
