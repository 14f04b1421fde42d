"""``reactor fleet shared``: what hosts share."""

from __future__ import annotations

import click

from reactor.cli.options.fleet import home_option
from reactor.cli.options.formats import Format, format_option


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
    from reactor.cli.running.fleet_shared import show_shared

    show_shared(home, name, form)
