"""``reactor show``: the present state of one thing, without changing it."""

from __future__ import annotations

import click

from reactor.cli.command_groups import KindGroup


@click.command(
    cls=KindGroup, make="reactor.cli.commands.show_kind:kind_command", subcommand_metavar="KIND NAME [OPTIONS]",
    short_help="Show the present state of one thing.",
)  # fmt: skip
def show() -> None:
    """Show how one thing is now. Changes nothing.

    Each kind has the options that 'reactor ensure' has for it: some say where to look, such as the network namespace
    of a link. Without any, what is there is shown as it is.

    Exit codes: 0 done; 1 it can't be told; 2 bad usage.

    \b
    Examples:
      reactor show file /etc/hostname
      reactor show service ssh --format json
    """
