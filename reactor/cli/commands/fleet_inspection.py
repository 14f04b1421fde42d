"""The commands of ``reactor fleet`` that show keys, slots, shared values and the state of the servers."""

from __future__ import annotations

import click

from reactor.cli.options.common import Format, format_option
from reactor.cli.options.fleet import home_option


@click.command(short_help="Find what is wrong with servers, streams and files.")
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
    from reactor.cli.running.fleet_inspection import run_checks

    raise click.exceptions.Exit(run_checks(home, signers, form))


@click.command(short_help="Show the public keys of the fleet and its hosts.")
@click.argument("host", required=False)
@home_option
@format_option("one JSON object")
def keys(host: str | None, home: str, form: Format) -> None:
    """Show the public keys of the fleet, and those of all hosts, or of HOST only, to compare them with what others see.

    A host has an nkey for NATS and an age key for secrets, as its card says. Revoked keys are named too. No secret is shown.

    Exit codes: 0 shown; 1 there is no such host, or no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet keys
      reactor fleet keys web7
    """
    from reactor.cli.running.fleet_inspection import show_keys

    show_keys(home, host, form)


@click.command(short_help="Show which hosts hold which slots.")
@click.argument("name", required=False)
@home_option
@format_option("one JSON array")
def slots(name: str | None, home: str, form: Format) -> None:
    """Show the slots that are held now, by which host and for which resource; of NAME only, if it is given.

    The servers let no host write the name of another; the resource is what the holder says.

    Exit codes: 0 shown; 1 no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet slots
      reactor fleet slots app-restart
    """
    from reactor.cli.running.fleet_inspection import show_slots

    show_slots(home, name, form)


@click.command(short_help="Show the values that hosts share.")
@click.argument("name", required=False)
@home_option
@format_option("one JSON array")
def shared(name: str | None, home: str, form: Format) -> None:
    """Show the values that hosts share now, by name and host; those of NAME only, if it is given.

    A host says its own values and groups; the server checks only the name of the host.

    Exit codes: 0 shown; 1 no server answers; 2 bad usage.

    \b
    Examples:
      reactor fleet shared
      reactor fleet shared pg_primary
    """
    from reactor.cli.running.fleet_inspection import show_shared

    show_shared(home, name, form)


COMMANDS = (doctor, keys, slots, shared)
