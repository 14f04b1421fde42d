"""``reactor session``: several calls of ``reactor ensure`` in one script that know of each other."""

from __future__ import annotations

import os
import shlex
import tempfile
from typing import Any

import click

from reactor.cli import exitcodes
from reactor.cli.command_groups import AliasGroup
from reactor.cli.messages import fail, warn
from reactor.cli.options.formats import Format, format_option

_LABELS = {
    "total_resources": "Total Resources",
    "unique_resources": "Unique Resources",
    "stable_resources": "Stable Resources",
    "changed_resources": "Changed Resources",
    "would_change_resources": "Would Change",
    "failed_resources": "Failed Resources",
    "skipped_resources": "Skipped Resources",
    "requirements_unmet_count": "Unmet Requirements",
    "refreshed_count": "Refreshed Resources",
    "total_errors": "Total Errors",
}
"""The lines of the summary, with CCM's words."""


@click.group(
    cls=AliasGroup,
    others={"start": "new", "create": "new"},
    short_help="Let calls of ensure in one script know of each other.",
)
def session() -> None:
    """Let several calls of 'reactor ensure' in one script know of each other.

    'reactor session new' makes a directory and prints the line that names it to the calls that follow. They write
    down in it how they ended, in the format of the journal: 'reactor events --state-dir "$REACTOR_SESSION"' and
    'reactor why' read it too.

    \b
    Example:
      reactor session report --format json

    \b
    In a script:
      eval "$(reactor session new)"
      reactor ensure file /tmp/app.conf --content 'port=80'
      reactor ensure exec 'echo hi' --refreshonly --subscribe file#/tmp/app.conf
      reactor session report --remove
    """


@session.command(short_help="Begin a session.")
@click.option(
    "--directory",
    metavar="DIR",
    type=click.Path(),
    help="Make this one.  [default: a new one in $TMPDIR or /tmp]",
)
def new(directory: str | None) -> None:
    """Make a session and print the line for the shell that names it.

    Exit codes: 0 done; 1 the directory can't be made; 2 bad usage.

    \b
    Example:
      eval "$(reactor session new)"
    """
    if directory is None:
        path = tempfile.mkdtemp(prefix="reactor-session-")
    else:
        path = os.path.abspath(directory)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            fail("R0704", f"{path} is there already", "name another directory", 1)
    click.echo(f"export REACTOR_SESSION={shlex.quote(path)}")


@session.command(name="report", short_help="Show what the session has done.")
@click.option("--session", "directory", metavar="DIR", help="The session.  [default: $REACTOR_SESSION]")
@click.option("--remove", is_flag=True, help="Remove the session afterwards.")
@format_option("one JSON object")
def show_report(directory: str | None, remove: bool, form: Format) -> None:
    """Say how many resources the session has ensured, how that ended, and what is not as desired.

    Exit codes: 0 all is as desired; 1 something failed or is blocked; 2 bad usage, or there is no session.

    \b
    Examples:
      reactor session report
      reactor session report --remove --format json
    """
    from reactor.cli.running.single_resource import BEGIN, reporting_session_errors, session_of
    from reactor.console.jsonlines import line
    from reactor.ensure.sessions import summary

    found = session_of(directory)
    if found is None:
        fail("R0607", "no session is named", f"use --session DIR, or {BEGIN}")
    with reporting_session_errors():
        told = summary(found.past())
    click.echo(line(told) if form == "json" else _text(told), nl=False)
    if remove and not found.remove():
        warn(f"{found.directory} stays: there are other files in it")
    raise click.exceptions.Exit(exitcodes.NOT_CONVERGED if told["troubles"] else 0)


def _text(told: dict[str, Any]) -> str:
    from reactor.resource.escaping import escaped

    lines = ["Session Summary", ""]
    lines += [f"{label + ':':>22} {told[key]}" for key, label in _LABELS.items()]
    if told["troubles"]:
        lines += ["", *(escaped(f"{ref}: {why}") for ref, why in told["troubles"].items())]
    return "".join(f"{each}\n" for each in lines)
