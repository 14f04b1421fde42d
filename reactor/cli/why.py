"""``reactor why``: what led to the state of one resource, and what followed."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import click

from reactor.cli.completing import complete_journal
from reactor.cli.running import TEXT, complain, directory_of, state_dir_option
from reactor.console.style import printable

if TYPE_CHECKING:
    from reactor.journal.history import History


@click.command(short_help="Explain the state of one resource.")
@click.argument("ref", type=TEXT, metavar="REF", shell_complete=complete_journal)
@state_dir_option
def why(ref: str, state_dir: str | None) -> None:
    """Explain how REF came to the state it is in: the last event, the check, the change, and whom that refreshed.

    If it is blocked, it names what is to blame. It asks the journal, so it works while a run goes on and when none
    does.

    Exit codes: 0 done; 1 there is no journal, or it does not know REF; 2 bad usage.

    \b
    Examples:
      reactor why file#/etc/motd
      reactor why 'exec#restart app'
    """
    from reactor.control.reasons import Reasons
    from reactor.journal.history import History, HistoryError

    try:
        history = History(directory_of(state_dir))
    except HistoryError as error:
        raise click.ClickException(str(error)) from error
    with closing(history):
        told = Reasons(history, time.time()).tell(ref)
        if told is None:
            complain(f"the journal knows no resource {ref}", _hint(history, ref))
            raise click.exceptions.Exit(1)
    for text in told:
        click.echo(printable(text))


def _hint(history: History, ref: str) -> str:
    from reactor.graph.names import Names

    if "#" not in ref:
        return "a resource is written kind#name"
    return Names((), history.refs()).hint(ref) or "'reactor status --all' shows those it knows"
