"""``reactor events``: shows the events in the journal."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click

from reactor.cli.messages import fail_for
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.resource_names import TEXT, warn_if_unknown
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option
from reactor.cli.options.times import moment
from reactor.console.history_lines import entry_line, headline
from reactor.console.jsonlines import line
from reactor.console.style import Style, wants_colour

if TYPE_CHECKING:
    from reactor.journal.history import Entry, Filter, History


@click.command(short_help="Show the history of events.")
@click.option("--follow", "-f", is_flag=True, help="Wait for new events, until ^C.")
@click.option(
    "--since",
    callback=moment,
    metavar="TIME",
    help="Show events since TIME: 1h30m, '2 hours ago', yesterday, 14:00, '2026-01-31 14:00'.  [default: all, or with --follow new ones]",
)
@click.option("--until", callback=moment, metavar="TIME", help="Show events until TIME.")
@click.option(
    "--ref",
    type=TEXT,
    metavar="REF",
    help="Show events of this resource. REF may be an alias, or a glob: 'file#/etc/*'.",
)
@click.option("--failed", is_flag=True, help="Show only failed and blocked resources.")
@click.option("--diff", is_flag=True, help="Show changes as unified diffs, too.")
@format_option("one JSON object per event")
@state_dir_option
def events(
    follow: bool,
    since: float | None,
    until: float | None,
    ref: str | None,
    failed: bool,
    diff: bool,
    form: Format,
    state_dir: str | None,
) -> None:
    """Show the events in the journal, oldest first: changes, failures, reloads, pauses.

    Checks that found nothing to do are not in the journal. Of diffs, the newest 32 MiB are. The command works whether
    or not a run is active, and only needs permission to read the state directory.

    Exit codes: 0 done; 1 there is no readable journal; 2 bad usage.

    \b
    Examples:
      reactor events --since 1h
      reactor events --since yesterday --until today
      reactor events --follow --failed
      reactor events --ref 'file#/etc/*' --format json
      reactor events --since today --diff
    """
    from reactor.journal.history import Filter, History, HistoryError

    if follow and until is not None:
        raise click.UsageError("--follow and --until can't be used together")
    wanted = Filter(since or 0.0, math.inf if until is None else until, ref, failed)
    if wanted.since > wanted.until:
        raise click.UsageError("--until is before --since")
    directory = directory_of(state_dir)
    try:
        with closing(History(directory)) as history:
            if ref is not None:
                warn_if_unknown(history, ref)
            diffs = history.diffs if diff else lambda _: ()
            _show(_found(history, wanted, follow=follow), form, diffs)
    except HistoryError as error:
        fail_for(error, 1, hint=hint_about(directory))


def _found(history: History, wanted: Filter, *, follow: bool) -> Iterator[Entry]:
    if not follow:
        return history.entries(wanted)
    gc.enable()  # the command may run for a long time
    return history.follow(wanted, after=0 if wanted.since else history.newest_id())


def _show(found: Iterable[Entry], form: Format, diffs: Callable[[Entry], Sequence[str]]) -> None:
    terminal = sys.stdout.isatty()
    style = Style(wants_colour(sys.stdout))
    if form == "text" and terminal:
        click.echo(headline(style), color=True)
    for entry in found:
        if form == "json":
            record = {"id": entry.id, "generation": entry.generation, **entry.record}
            if texts := diffs(entry):
                record["diffs"] = texts
            click.echo(line(record), nl=False)
            continue
        click.echo(entry_line(entry.record, style, aligned=terminal), color=True)
        for text in diffs(entry):
            click.echo(style.diff(text), nl=terminal, color=True)
