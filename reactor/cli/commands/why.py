"""``reactor why``: what led to the state of one resource, and what followed."""

from __future__ import annotations

import time
from contextlib import closing

import click

from reactor.cli.completion_candidates import complete_journal
from reactor.cli.messages import fail, fail_for
from reactor.cli.options.formats import Format, format_option
from reactor.cli.options.resource_names import TEXT, hint_from
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option
from reactor.resource.escaping import escaped


@click.command(short_help="Explain the state of one resource.")
@click.argument("ref", type=TEXT, metavar="REF", shell_complete=complete_journal)
@format_option("one JSON object")
@state_dir_option
def why(ref: str, form: Format, state_dir: str | None) -> None:
    """Explain how REF came to the state it is in: the last event, the check, the change, and whom that refreshed.

    If it is blocked, it names what is to blame. It asks the journal, so it works while a run goes on and when none
    does.

    Exit codes: 0 done; 1 there is no journal, or it does not know REF; 2 bad usage.

    \b
    Examples:
      reactor why file#/etc/motd
      reactor why 'exec#restart app'
    """
    from reactor.console.jsonlines import line
    from reactor.control.explanation import Explanation
    from reactor.journal.history import History, HistoryError

    directory = directory_of(state_dir)
    try:
        with closing(History(directory, at_once=True)) as history:
            reasons = Explanation(history, time.time())
            told = reasons.explain(ref) or reasons.explain(history.aliases().get(ref, ref))
            if told is None:
                fail("R0605", f"the journal knows no resource {ref}", hint_from(history, ref), 1)
    except HistoryError as error:
        fail_for(error, 1, hint=hint_about(directory))
    if form == "json":
        click.echo(line({"ref": ref, "why": told}), nl=False)
        return
    for text in told:
        click.echo(escaped(text))
