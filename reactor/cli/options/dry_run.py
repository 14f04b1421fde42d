"""The option for a dry run. A command documents ``--noop`` or ``--dry-run``, and takes the other word, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import click

_OTHER: Final = {"--noop": "--dry-run", "--dry-run": "--noop"}


class DryRun(click.Option):
    """A flag whose other word neither the help nor a completion shows."""

    def __init__(self, words: Sequence[str], **attributes: Any) -> None:
        super().__init__(words, is_flag=True, **attributes)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser take both words."""
        super().add_to_parser(parser, ctx)
        parser.add_option(self, [_OTHER[self.opts[0]]], self.name, action="store_const", const=True)


def dry_run_option(word: str, help: str) -> Callable[..., Any]:  # noqa: A002 - the name in click
    """The option of a command: ``--noop`` or ``--dry-run``."""
    return click.option(word, cls=DryRun, help=help)
