"""``reactor status``: shows the status of all resources, what blocks them, and how they are watched."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from reactor.cli import exitcodes
from reactor.cli.completion_candidates import complete_journal
from reactor.cli.messages import fail_for, notice, reporting_refusals, warn
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.resource_names import TEXT
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option

if TYPE_CHECKING:
    from reactor.control.protocol import StatusQuery

_PROBLEMS = ("failed", "blocked")


@click.command(short_help="Show the status of the resources.")
@click.argument("ref", type=TEXT, required=False, metavar="[REF-GLOB]", shell_complete=complete_journal)
@click.option("--all", "everything", is_flag=True, help="Show all resources, also those that are as desired.")
@click.option("--failed", is_flag=True, help="Show only failed and blocked resources.")
@format_option("one JSON object")
@state_dir_option
def status(ref: str | None, everything: bool, failed: bool, form: Format, state_dir: str | None) -> None:
    """Show the resources that are not as desired, and a line of counts, from the active run.

    If no run is active, the status at the end of the last run is shown, from the journal.

    REF-GLOB selects resources, such as 'file#/etc/*'. They are shown whether or not they are as desired.

    Exit codes: 0 all resources (or all selected ones) are as desired; 1 a resource failed, is blocked or is still being
    worked on, the changed manifest is invalid, or the last run did not begin; 2 no run is active and the last one left
    nothing failed or blocked, no resource matches, or bad usage.

    \b
    Examples:
      reactor status
      reactor status --all --format json
      reactor status 'file#/etc/nginx/*'
    """
    from reactor.control.client import Client, NoRunError
    from reactor.control.protocol import StatusQuery

    directory, query = directory_of(state_dir), StatusQuery(ref, everything, failed)
    with reporting_refusals():
        try:
            answer = Client(directory).status(query)
        except NoRunError as error:
            notice(f"{error}", hint_about(directory))
            raise click.exceptions.Exit(_show_last_run(directory, query, form)) from error
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


def _show_last_run(directory: str, query: StatusQuery, form: Format) -> int:
    """Show the status at the end of the last run, if there was one. Return the exit code."""
    from reactor.control.last_run import last_status
    from reactor.control.names import UnknownNameError
    from reactor.control.pause_file import PauseFile
    from reactor.control.refused_run import read_refused_run
    from reactor.journal.history import History, HistoryError, NoHistoryError

    refused = read_refused_run(directory)
    try:
        with closing(History(directory, at_once=True)) as history:
            answer = {**last_status(PauseFile(directory, warn), history, query), "refused": refused}
    except UnknownNameError as error:
        fail_for(error)
    except HistoryError as error:
        if not isinstance(error, NoHistoryError):
            warn(f"{error.message} ({error.hint})")
        if refused is not None:
            empty: dict[str, Any] = {"ended": None, "counts": {}, "watchers": [], "resources": []}
            _show({"run": None, **empty, "refused": refused}, form)
        elif form == "json":
            _show({"run": None, "resources": []}, form)
        return exitcodes.NOT_KNOWN if refused is None else exitcodes.NOT_CONVERGED
    _show(answer, form)
    return _exit_code_of_last_run(answer, named=query.match is not None)


def _exit_code(answer: dict[str, Any], *, named: bool) -> int:
    if answer["run"]["rejected"] is not None or not (named or answer["run"]["converged"]):
        return exitcodes.NOT_CONVERGED
    if not named:
        return 0
    not_ok = any(r["state"] in _PROBLEMS or r["in_motion"] for r in answer["resources"])
    return exitcodes.NOT_CONVERGED if not_ok else 0


def _exit_code_of_last_run(answer: dict[str, Any], *, named: bool) -> int:
    """The code of the last run, if it left problems. What it left as desired may have drifted since."""
    if answer["refused"] is not None:
        return exitcodes.NOT_CONVERGED
    if named:
        has_problems = any(record["state"] in _PROBLEMS for record in answer["resources"])
    else:
        has_problems = any(answer["counts"][state] for state in _PROBLEMS)
    return exitcodes.NOT_CONVERGED if has_problems else exitcodes.NOT_KNOWN
