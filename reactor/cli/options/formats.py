"""The option of commands that write lines for people or JSON for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import click

Format = Literal["text", "json"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def format_option(json: str) -> Callable[[_Command], _Command]:
    """The option ``--format``; ``json`` tells what a program gets. The command gets ``form``."""
    return click.option(
        "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help=f"Lines for people, or {json}.",
    )  # fmt: skip
