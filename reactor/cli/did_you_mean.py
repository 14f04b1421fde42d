"""Groups of commands that answer a misspelt name with the nearest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from reactor.cli.messages import hinted


class SuggestingGroup(click.Group):
    """A group of commands, each of which is a ``noun``. It must say all their names, in `list_commands`."""

    noun = "command"

    def other_names(self) -> Iterable[str]:
        """What finds a command too, and is neither listed nor completed."""
        return ()

    def hint_home(self, name: str) -> str | None:  # noqa: ARG002 - few groups are known by other names elsewhere
        """The hint for a command that another program has."""
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find what to run. An unknown name is answered with the nearest; in a completion, nobody could read that."""
        name, names = args[0], self.list_commands(ctx)
        if (
            name not in (*names, *self.other_names())
            and not name.startswith("-")
            and not ctx.resilient_parsing
        ):
            from difflib import get_close_matches

            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"{self.noun}s: {', '.join(names)}"
            hint = self.hint_home(name) or hint
            raise hinted(click.NoSuchCommand(name, f"there is no {self.noun} {name!r}", ctx=ctx), hint)
        return super().resolve_command(ctx, args)


class AliasGroup(SuggestingGroup):
    """A group some of whose commands have further names: ``others`` maps these to the usual ones."""

    def __init__(self, *args: Any, others: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self._others = others

    def other_names(self) -> Iterable[str]:
        """The further names."""
        return self._others

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with that name, the usual one or another."""
        return super().get_command(ctx, self._others.get(cmd_name, cmd_name))
