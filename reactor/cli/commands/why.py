"""``reactor why``: explains the state of one resource: its cause and its consequences."""

from __future__ import annotations

import time
from contextlib import closing

import click

from reactor.cli.completion_candidates import complete_journal
from reactor.cli.messages import fail, fail_for
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.resource_names import TEXT, hint_from
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option
from reactor.resource.escaping import escaped


@click.command(short_help="Explain the state of one resource.")
@click.argument("ref", type=TEXT, metavar="REF", shell_complete=complete_journal)
@format_option("one JSON object")
@state_dir_option
def why(ref: str, form: Format, state_dir: str | None) -> None:
    """Explain the state of the resource REF: its last event, check and change, and what that refreshed.

    For a blocked resource, it shows the failure that blocks it. It reads the journal, so it works whether or not a run is
    active.

    Exit codes: 0 done; 1 there is no journal, or it does not have REF; 2 bad usage.

    \b
    Examples:
      reactor why file#/etc/motd
      reactor why 'exec#restart app'
    """
    from reactor.cli.running.network import stale_values
    from reactor.console.jsonlines import line
    from reactor.control.explanation import Explanation
    from reactor.journal.history import History, HistoryError

    directory = directory_of(state_dir)
    try:
        with closing(History(directory, at_once=True)) as history:
            explanation = Explanation(history, time.time())
            sentences = explanation.explain(ref) or explanation.explain(history.aliases().get(ref, ref))
            if sentences is None:
                fail("R0605", f"the journal has no resource {ref}", hint_from(history, ref), 1)
            sentences += stale_values(directory, history.aliases().get(ref, ref))
    except HistoryError as error:
        fail_for(error, 1, hint=hint_about(directory))
    if form == "json":
        click.echo(line({"ref": ref, "why": sentences}), nl=False)
        return
    for text in sentences:
        click.echo(escaped(text))
