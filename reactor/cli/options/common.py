"""Options that many commands have: ``--format``, and the one for a dry run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeVar

import click

Format = Literal["text", "json"]
ValueFormat = Literal["text", "json", "yaml"]

_OTHER_WORD: Final = {"--noop": "--dry-run", "--dry-run": "--noop"}
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


class DryRun(click.Option):
    """A flag whose other word neither the help nor a completion shows."""

    def __init__(self, words: Sequence[str], **attributes: Any) -> None:
        super().__init__(words, is_flag=True, **attributes)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser take both words."""
        super().add_to_parser(parser, ctx)
        parser.add_option(self, [_OTHER_WORD[self.opts[0]]], self.name, action="store_const", const=True)


def dry_run_option(word: str, help: str) -> Callable[..., Any]:  # noqa: A002 - the name in click
    """The option of a command: ``--noop`` or ``--dry-run``."""
    return click.option(word, cls=DryRun, help=help)
