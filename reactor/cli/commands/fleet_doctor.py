"""``reactor fleet doctor``: what is wrong with the ground of a fleet, and how to fix it."""

from __future__ import annotations

import click

from reactor.cli.options.fleet import home_option
from reactor.cli.options.formats import Format, format_option


@click.command(short_help="Say what is wrong with servers, streams and files.")
@click.option(
    "--signers",
    default="/etc/reactor/fleet-signers",
    show_default=True,
    metavar="FILE",
    help="Check the file of the people who may sign.",
)
@home_option
@format_option("one JSON object per check")
def doctor(signers: str, home: str, form: Format) -> None:
    """Check the files of the operator, the servers with their versions, clocks and certificates, the streams, and permissions.

    It changes nothing, and ends within 3 seconds when a server does not answer. Each line is ok, or says what is wrong and
    how to fix it.

    Exit codes: 0 all is well; 1 something is wrong; 2 bad usage.

    \b
    Examples:
      reactor fleet doctor
      reactor fleet doctor --format json
    """
    from reactor.cli.running.fleet_doctor import run_checks

    raise click.exceptions.Exit(run_checks(home, signers, form))
