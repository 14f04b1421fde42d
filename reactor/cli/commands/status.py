"""``reactor status``: how everything stands, what waits for what, and how well it is watched."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from reactor.cli import exitcodes
from reactor.cli.completion_candidates import complete_journal
from reactor.cli.messages import fail_for, notice, reporting_refusals, warn
from reactor.cli.options.formats import Format, format_option
from reactor.cli.options.resource_names import TEXT
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option

if TYPE_CHECKING:
    from reactor.control.protocol import StatusQuery


@click.command(short_help="Show how everything stands, and why.")
@click.argument("ref", type=TEXT, required=False, metavar="[REF-GLOB]", shell_complete=complete_journal)
@click.option("--all", "everything", is_flag=True, help="Also what is as desired.")
@click.option("--failed", is_flag=True, help="Only what has failed or is blocked.")
@format_option("one JSON object")
@state_dir_option
def status(ref: str | None, everything: bool, failed: bool, form: Format, state_dir: str | None) -> None:
    """Show how the resources of the running converger stand: first what is not fine, then a line of counts.

    When nothing runs, the journal tells how things stood when the last run ended.

    REF-GLOB names the resources to show, as in 'file#/etc/*'; they are shown whether they are fine or not.

    Exit codes: 0 everything (or everything named) is as desired; 1 something failed, is blocked or still has
    work to do, or the manifest has changed and can't be used; 2 nothing runs, nothing is called like that, or bad usage.

    \b
    Examples:
      reactor status
      reactor status --all --format json
      reactor status 'file#/etc/nginx/*'
    """
    from reactor.control.client import Client, NoRunError
    from reactor.control.protocol import StatusQuery

    directory, question = directory_of(state_dir), StatusQuery(ref, everything, failed)
    with reporting_refusals():
        try:
            answer = Client(directory).status(question)
        except NoRunError as error:
            notice(f"{error}", hint_about(directory))
            _show_past(directory, question, form)
            raise click.exceptions.Exit(exitcodes.BAD_USAGE) from error
    _show(answer, form)
    raise click.exceptions.Exit(_exit_code(answer, named=ref is not None))


def _show(answer: dict[str, Any], form: Format) -> None:
    from reactor.console.jsonlines import line
    from reactor.console.status_lines import status_text
    from reactor.console.style import Style, wants_colour

    coloured, aligned = wants_colour(sys.stdout), sys.stdout.isatty()
    if form == "json":
        text = line(answer)
    else:
        text = status_text(answer, Style(coloured), time.time(), aligned=aligned)
    click.echo(text, nl=False, color=coloured)


def _show_past(directory: str, question: StatusQuery, form: Format) -> None:
    """How things stood when the last run ended, if there was one."""
    from reactor.control.last_run import last_status
    from reactor.control.names import UnknownNameError
    from reactor.control.pause_file import PauseFile
    from reactor.journal.history import History, HistoryError, NoHistoryError

    try:
        with closing(History(directory, at_once=True)) as history:
            answer = last_status(PauseFile(directory, warn), history, question)
    except UnknownNameError as error:
        fail_for(error)
    except HistoryError as error:
        if not isinstance(error, NoHistoryError):
            warn(str(error))
        if form == "json":
            _show({"run": None, "resources": []}, form)
        return
    _show(answer, form)


def _exit_code(answer: dict[str, Any], *, named: bool) -> int:
    if answer["run"]["rejected"] is not None or not (named or answer["run"]["converged"]):
        return exitcodes.NOT_CONVERGED
    if not named:
        return 0
    troubled = any(r["state"] in ("failed", "blocked") or r["in_motion"] for r in answer["resources"])
    return exitcodes.NOT_CONVERGED if troubled else 0
