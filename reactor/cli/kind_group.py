"""The groups of ``reactor ensure`` and ``reactor show``, with a command for each kind."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.did_you_mean import SuggestingGroup
from reactor.cli.options.ccm import KINDS
from reactor.resource.entry_points import KINDS_GROUP, installed_entry_points

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class KindGroup(SuggestingGroup):
    """A group with a command for each kind that is installed; a kind is imported when its command is used."""

    noun = "kind"

    def __init__(self, *args: Any, make: str, others: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self._make = make
        self._others = others or {}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names of the kinds, and what else there is."""
        return [*installed_entry_points(KINDS_GROUP), *self._others]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a kind, made by the function ``make``, which is written ``module:function``."""
        cmd_name = KINDS.get(cmd_name, cmd_name)
        if cmd_name in self._others:
            command = _imported(self._others[cmd_name])
        elif cmd_name in installed_entry_points(KINDS_GROUP):
            command = _imported(self._make)(cmd_name)
        else:
            return None
        return command if isinstance(command, click.Command) else None

    def other_names(self) -> Iterable[str]:
        """What CCM calls some of the kinds."""
        return KINDS

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the names only: what each is for would need all of them imported. ``reactor kinds`` has that."""
        with formatter.section("Kinds"):
            formatter.write_text(", ".join(installed_entry_points(KINDS_GROUP)))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete kinds without importing them."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name) for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return names or click.Command.shell_complete(self, ctx, incomplete)


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
