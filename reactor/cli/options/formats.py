"""The option ``--format``: text or a format for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import click

Format = Literal["text", "json"]
ValueFormat = Literal["text", "json", "yaml"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def format_option(json: str) -> Callable[[_Command], _Command]:
    """The option ``--format`` with text and JSON; ``json`` describes the JSON. The command gets ``form``."""
    return click.option(
        "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help=f"Write text, or {json}.",
    )  # fmt: skip


def value_format_option(command: _Command) -> _Command:
    """The option ``--format`` with text, JSON and YAML, of commands that show values."""
    option = click.option(
        "--format", "form", type=click.Choice(["text", "json", "yaml"]),
        help="Write a line for each value, or one JSON or YAML document.  [default: text on a terminal, else json]",
    )  # fmt: skip
    return option(command)


yaml_option = click.option("--yaml", "form", flag_value="yaml", help="Same as --format yaml.")
"""The option ``--yaml`` of CCM, for a command with `value_format_option`."""
