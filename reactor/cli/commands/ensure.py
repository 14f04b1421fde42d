"""``reactor ensure``: one resource, without a manifest."""

from __future__ import annotations

import click

from reactor.cli.command_groups import KindGroup


@click.command(
    cls=KindGroup, make="reactor.cli.commands.ensure_kind:kind_command", others={"api": "reactor.cli.commands.ensure_api:api"},
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
