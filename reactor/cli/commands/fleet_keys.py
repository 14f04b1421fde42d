"""``reactor fleet keys``: which keys a fleet believes."""

from __future__ import annotations

import click

from reactor.cli.options.fleet import home_option
from reactor.cli.options.formats import Format, format_option


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
    from reactor.cli.running.fleet_keys import show_keys

    show_keys(home, host, form)
