"""``reactor resume``: ends pauses."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from reactor.cli.completion_candidates import complete_journal
from reactor.cli.messages import reporting_refusals, warn
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.resource_names import TEXT
from reactor.cli.options.state_dir import directory_of, require_own_directory, state_dir_option

if TYPE_CHECKING:
    from reactor.control.client import Client


@click.command(short_help="End pauses.")
@click.argument("ref", type=TEXT, default="*", metavar="[REF-GLOB]", shell_complete=complete_journal)
@format_option("one JSON object")
@state_dir_option
def resume(ref: str, form: Format, state_dir: str | None) -> None:
    """End the pauses of the resources that match REF-GLOB, or all pauses. Pending checks start at once.

    Exit codes: 0 done, also if nothing was paused; 2 no resource matches, or bad usage.

    \b
    Examples:
      reactor resume
      reactor resume 'file#/etc/nginx/*'
    """
    from reactor.console.jsonlines import line
    from reactor.control.client import Client, NoRunError
    from reactor.resource.escaping import escaped

    client = Client(directory_of(state_dir))
    with reporting_refusals():
        try:
            refs = client.resume(ref)
        except NoRunError:
            refs = _resume_without_run(client, ref)
    if form == "json":
        click.echo(line({"resumed": refs}), nl=False)
        return
    for each in refs:
        click.echo(f"{escaped(each)}  resumed")
    if not refs:
        click.echo("nothing was paused", err=True)


def _resume_without_run(client: Client, ref: str) -> list[str]:
    """Change the file, then try the socket again: a run that just started may have read the file before."""
    from reactor.control.client import NoRunError
    from reactor.control.pause_file import PauseFile, effective, patterns

    if not os.path.isdir(client.directory):
        return []
    require_own_directory(client.directory)
    pauses, now = PauseFile(client.directory, warn), time.time()
    before = pauses.active(now)
    left = pauses.remove([ref], now)
    try:
        return client.resume(ref)
    except NoRunError:
        taken_out = {ref} if effective(before, (ref,), now) else set()
        return sorted(patterns(before) - patterns(left) | taken_out)
