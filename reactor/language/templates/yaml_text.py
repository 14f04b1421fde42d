"""Writes values as YAML."""

from __future__ import annotations

import re
from typing import Any, Final

from reactor.language.templates.budget import current_budget

_LOOKS_LIKE_NUMBER: Final = re.compile(r"[-+]?(?:0o[0-7]+|[\d.]+[eE][-+]?\d+)")
"""Matches a string that is a number in YAML 1.2, and that PyYAML, which writes YAML 1.1, would not quote."""


def yaml_text(value: Any, indent: int | None, *, sort_keys: bool = True, flow: bool | None = False) -> str:
    """Return ``value``, which is one of JSON, as YAML; each part of it is a step. ``flow`` is that of PyYAML."""
    import yaml  # noqa: PLC0415 - few templates write YAML, and validate compiles them all

    budget = current_budget()

    class Dumper(yaml.SafeDumper):
        """Writes every value out, without anchors."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
            return True

        def represent_data(self, data: Any) -> yaml.Node:
            budget.step()
            return super().represent_data(data)

        def anchor_node(self, node: yaml.Node) -> None:
            budget.step()
            super().anchor_node(node)

        def emit(self, event: Any) -> None:
            budget.step()
            super().emit(event)

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = "'" if _LOOKS_LIKE_NUMBER.fullmatch(text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)

    Dumper.add_representer(str, represent)
    return str(
        yaml.dump(
            value,
            Dumper=Dumper,
            allow_unicode=True,
            default_flow_style=flow,
            indent=indent,
            sort_keys=sort_keys,
        )
    )
