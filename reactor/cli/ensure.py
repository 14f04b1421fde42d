"""``reactor ensure``: one resource, without a manifest."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from reactor.resource.installed import KINDS_GROUP, installed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_API = "api"


class KindGroup(click.Group):
    """A group with a command for each kind that is installed; a kind is imported when its command is used."""

    def __init__(self, *args: Any, make: str, others: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self._make = make
        self._others = others or {}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names of the kinds, and what else there is."""
        return [*installed(KINDS_GROUP), *self._others]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a kind, made by the function ``make``, which is written ``module:function``."""
        if cmd_name in self._others:
            command = _imported(self._others[cmd_name])
        elif cmd_name in installed(KINDS_GROUP):
            command = _imported(self._make)(cmd_name)
        else:
            return None
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the kind. An unknown one is answered with the nearest."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], names, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}?" if close else f"kinds: {', '.join(names)}"
            raise click.UsageError(f"there is no kind {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the names only: what each is for would need all of them imported. ``reactor kinds`` has that."""
        with formatter.section("Kinds"):
            formatter.write_text(", ".join(installed(KINDS_GROUP)))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete kinds without importing them."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name) for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return names or click.Command.shell_complete(self, ctx, incomplete)


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@click.command(
    cls=KindGroup, make="reactor.cli.ensure_kind:kind_command", others={_API: "reactor.cli.ensure_api:api"},
    subcommand_metavar="KIND NAME [ENSURE] [OPTIONS]", short_help="Bring one resource into its state.",
)  # fmt: skip
def ensure() -> None:
    """Bring one resource into the state you describe, without a manifest: for shells and scripts.

    Each kind has its own options, one for each of its properties: 'reactor ensure KIND --help'. They are checked as
    in a manifest, and expressions in {{ }} work too. Calls with a session (see 'reactor session --help') know of each
    other: --require looks whether an earlier one went well, --subscribe whether it has changed something.

    'reactor ensure api pipe' does the same for programs: it reads a request in JSON and writes the answer.

    Exit codes: 0 it is as desired; 1 it failed or is blocked; 2 bad usage; 130 or 143 cut short by a signal.

    \b
    Examples:
      reactor ensure file /tmp/motd --content 'Welcome'
      reactor ensure service nginx running --enable
      reactor ensure exec 'touch /tmp/ready' --creates /tmp/ready
    """
