"""Writes values as YAML."""

from __future__ import annotations

import math
from typing import Any

import yaml
from yaml.nodes import ScalarNode


class _Dumper(yaml.SafeDumper):
    """Writes a string of several lines in one line, with escapes."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - no value is an anchor
        """Write every value where it is."""
        return True


def _string(dumper: _Dumper, text: str) -> ScalarNode:
    style = '"' if "\n" in text or "\r" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _string)


def _dumped(value: Any, *, is_flow: bool, style: str | None = None) -> str:
    found: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=is_flow,
        default_style=style,
        width=math.inf,
        allow_unicode=True,
        sort_keys=False,
    )
    return found.removesuffix("\n").removesuffix("\n...")


def flow(value: Any, style: str | None = None) -> str:
    """The value in one line; a string in the quotes of ``style``."""
    if isinstance(value, str) and style in ("'", '"') and "\n" not in value:
        return _dumped(value, is_flow=True, style=style)
    return _dumped(value, is_flow=True)


def block_lines(value: Any) -> list[str]:
    """The value in lines, without the indent of its place."""
    return _dumped(value, is_flow=False).split("\n")
