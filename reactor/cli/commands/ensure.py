"""``reactor ensure``: one resource, without a manifest."""

from __future__ import annotations

import click

from reactor.cli.command_groups import KindGroup


@click.command(
    cls=KindGroup, make="reactor.cli.commands.ensure_kind:kind_command", others={"api": "reactor.cli.commands.ensure_api:api"},
    subcommand_metavar="KIND NAME [ENSURE] [OPTIONS]", short_help="Apply one resource, without a manifest.",
)  # fmt: skip
def ensure() -> None:
    """Apply one resource without a manifest, for shells and scripts. It is idempotent: a second call changes nothing.

    Each kind has an option for each of its properties: see 'reactor ensure KIND --help'. Values are checked as in a
    manifest, and may have expressions in {{ }}. In a session (see 'reactor session --help') a call can depend on
    earlier ones: --require needs an earlier one to have succeeded, --subscribe also refreshes when it changed something.

    'reactor ensure api pipe' does the same for programs: it reads a request in JSON and writes the answer.

    Exit codes: 0 the resource is as desired; 1 it failed or is blocked; 2 bad usage; 130 or 143 ended by a signal.

    \b
    Examples:
      reactor ensure file /tmp/motd --content 'Welcome'
      reactor ensure service nginx running --enable
      reactor ensure exec 'touch /tmp/ready' --creates /tmp/ready
    """
