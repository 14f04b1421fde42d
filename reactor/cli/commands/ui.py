"""``reactor ui``: where the live page of a running converger is."""

from __future__ import annotations

import click

from reactor.cli.messages import fail_for, reporting_refusals
from reactor.cli.options.formats import Format, format_option
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option


@click.command(short_help="Tell the address of the live page.")
@format_option("one JSON object")
@state_dir_option
def ui(form: Format, state_dir: str | None) -> None:
    """Tell the address of the live page of the running converger, with the token that the page asks for.

    Open it in a browser. Only the user who runs the converger, and root, are told.

    Exit codes: 0 told; 2 nothing runs, it has no page, or bad usage.

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
