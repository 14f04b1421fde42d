"""``reactor fleet slots``: who holds which slot."""

from __future__ import annotations

import click

from reactor.cli.options.fleet import home_option
from reactor.cli.options.formats import Format, format_option


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
    from reactor.cli.running.fleet_slots import show_slots

    show_slots(home, name, form)
