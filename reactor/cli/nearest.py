"""Groups of commands that answer a misspelt name with the nearest."""

from __future__ import annotations

import click

from reactor.cli.messages import hinted


class NearestGroup(click.Group):
    """A group of commands, each of which is a ``noun``. It must say all their names, in `list_commands`."""

    noun = "command"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find what to run. An unknown name is answered with the nearest; in a completion, nobody could read that."""
        name, names = args[0], self.list_commands(ctx)
        if name not in names and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"{self.noun}s: {', '.join(names)}"
            raise hinted(click.UsageError(f"there is no {self.noun} {name!r}", ctx), hint)
        return super().resolve_command(ctx, args)
