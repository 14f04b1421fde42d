"""``reactor show``: shows the current state of one resource."""

from __future__ import annotations

import click

from reactor.cli.command_groups import KindGroup


@click.command(
    cls=KindGroup, make="reactor.cli.commands.show_kind:kind_command", subcommand_metavar="KIND NAME [OPTIONS]",
    short_help="Show the current state of one resource.",
)  # fmt: skip
def show() -> None:
    """Show the current state of one resource. Changes nothing.

    Each kind has the same options as in 'reactor ensure'. Some select where to look, such as the network namespace of
    a link. The others are ignored.

    Exit codes: 0 done; 1 the state can't be read; 2 bad usage.

    \b
    Examples:
      reactor show file /etc/hostname
      reactor show service ssh --format json
    """
