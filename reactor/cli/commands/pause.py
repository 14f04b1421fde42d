"""``reactor pause``: stops checks of resources for a while; status and metrics show the pause."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import click

from reactor.cli.completion_candidates import complete_journal
from reactor.cli.messages import notice, reporting_refusals, warn, with_hint
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.resource_names import TEXT, warn_if_unknown
from reactor.cli.options.state_dir import directory_of, hint_about, require_own_directory, state_dir_option

if TYPE_CHECKING:
    from reactor.control.client import Client


def _duration(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    from reactor.control.pause_file import is_valid_duration
    from reactor.resource.property_types import parse_duration

    try:
        seconds = parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if not is_valid_duration(seconds):
        refusal = click.BadParameter("a pause must be above 0 and at most a year")
        raise with_hint(refusal, "write 30s, 10m or 2h")
    return seconds


@click.command(short_help="Pause resources for a while.")
@click.argument("ref", type=TEXT, default="*", metavar="[REF-GLOB]", shell_complete=complete_journal)
@click.option(
    "--for", "seconds", required=True, callback=_duration, metavar="DURATION",
    help="End the pause after this time, such as 30m or 2h.",
)  # fmt: skip
@click.option("--reason", type=TEXT, required=True, metavar="TEXT", help="Record why; status shows it.")
@format_option("one JSON object")
@state_dir_option
def pause(ref: str, seconds: float, reason: str, form: Format, state_dir: str | None) -> None:
    """Pause the resources that match REF-GLOB, or all: no check of them starts until the time is over or 'reactor resume'.

    An apply resource stands for all resources of the manifest that it applies.

    Watching goes on: a paused resource that drifts is checked after the pause, and resources that depend on it wait. A
    running check is not interrupted. The pause is kept in the state directory and survives a restart. If no run is
    active, it applies to the next one.

    Exit codes: 0 done; 2 no resource matches, or bad usage.

    \b
    Examples:
      reactor pause 'file#/etc/nginx/*' --for 2h --reason 'an experiment, ask Ada'
      reactor pause --for 10m --reason 'disk is being replaced'
    """
    from reactor.console.jsonlines import line
    from reactor.control.client import Client, NoRunError
    from reactor.number_format import date_and_time
    from reactor.resource.escaping import escaped

    if not reason.strip():
        raise click.BadParameter("the reason must not be empty", param_hint="'--reason'")
    client = Client(directory_of(state_dir))
    with reporting_refusals():
        try:
            refs = client.pause(ref, seconds, reason)
        except NoRunError:
            refs = _pause_without_run(client, ref, seconds, reason)
    until = time.time() + seconds
    if form == "json":
        click.echo(line({"paused": refs, "until": until}), nl=False)
        return
    for each in refs:
        click.echo(f"{escaped(each)}  paused  until {date_and_time(until)}")


def _pause_without_run(client: Client, ref: str, seconds: float, reason: str) -> list[str]:
    """Write the pause to the file, then try the socket again: a run that just started may have read the file before."""
    from reactor.control.client import NoRunError
    from reactor.control.pause_file import PauseFile

    require_own_directory(client.directory)
    now = time.time()
    PauseFile(client.directory, warn).add([ref], now, now + seconds, reason)
    try:
        return client.pause(ref, seconds, reason)
    except NoRunError:
        text = f"no run is active on {client.directory}; {ref} is paused for the next one"
        notice(text, hint_about(client.directory))
        _warn_of_unknown(client.directory, ref)
        return []


def _warn_of_unknown(directory: str, ref: str) -> None:
    """Warn if the last run had no resource ``ref``: it may be misspelt."""
    from reactor.journal.history import History, HistoryError

    with suppress(HistoryError), closing(History(directory, at_once=True)) as history:
        warn_if_unknown(history, ref)
