"""``reactor ui``: shows the address of the live page."""

from __future__ import annotations

import click

from reactor.cli.messages import fail_for, reporting_refusals
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option


@click.command(short_help="Show the address of the live page.")
@format_option("one JSON object")
@state_dir_option
def ui(form: Format, state_dir: str | None) -> None:
    """Show the address of the live page of the active run, with the token that the page needs.

    Open it in a browser. Only the user who runs reactor, and root, can use this command.

    Exit codes: 0 done; 2 no run is active, it has no page, or bad usage.

    \b
    Examples:
      reactor ui --format json
    """
    from reactor.console.jsonlines import line
    from reactor.control.client import Client, NoRunError
    from reactor.resource.escaping import escaped

    directory = directory_of(state_dir)
    with reporting_refusals():
        try:
            url = Client(directory).page_url()
        except NoRunError as error:
            fail_for(error, hint=hint_about(directory))
    click.echo(line({"url": url}) if form == "json" else f"{escaped(url)}\n", nl=False)
