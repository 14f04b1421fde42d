"""``reactor session``: lets the calls of ``reactor ensure`` in one script depend on each other."""

from __future__ import annotations

import os
import shlex
import tempfile
from typing import Any

import click

from reactor.cli import exitcodes
from reactor.cli.command_groups import AliasGroup
from reactor.cli.messages import fail, warn
from reactor.cli.options.common import Format, format_option

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
"""The lines of the summary, with the labels of CCM."""


@click.group(
    cls=AliasGroup,
    others={"start": "new", "create": "new"},
    short_help="Connect the calls of 'ensure' in one script.",
)
def session() -> None:
    """Connect the calls of 'reactor ensure' in one script, so that they can require and subscribe to each other.

    'reactor session new' creates a directory and prints a line for the shell that exports it. The calls record their
    results there, in the format of the journal, so 'reactor events --state-dir "$REACTOR_SESSION"' and 'reactor why'
    can read them.

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


@session.command(short_help="Start a session.")
@click.option(
    "--directory",
    metavar="DIR",
    type=click.Path(),
    help="Create this directory.  [default: a new one in $TMPDIR or /tmp]",
)
def new(directory: str | None) -> None:
    """Start a session and print the line for the shell that exports it.

    Exit codes: 0 done; 1 the directory can't be created; 2 bad usage.

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
            fail("R0704", f"{path} already exists", "name another directory", 1)
    click.echo(f"export REACTOR_SESSION={shlex.quote(path)}")


@session.command(name="report", short_help="Show a summary of the session.")
@click.option("--session", "directory", metavar="DIR", help="Use this session.  [default: $REACTOR_SESSION]")
@click.option("--remove", is_flag=True, help="Remove the session afterwards.")
@format_option("one JSON object")
def show_report(directory: str | None, remove: bool, form: Format) -> None:
    """Show how many resources the session has ensured, their results, and which ones are not as desired.

    Exit codes: 0 all are as desired; 1 a resource failed or is blocked; 2 bad usage, or there is no session.

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
        fail("R0607", "there is no session", f"use --session DIR, or {BEGIN}")
    with reporting_session_errors():
        report = summary(found.past())
    click.echo(line(report) if form == "json" else _text(report), nl=False)
    if remove and not found.remove():
        warn(f"{found.directory} is not removed: it has other files")
    raise click.exceptions.Exit(exitcodes.NOT_CONVERGED if report["troubles"] else 0)


def _text(report: dict[str, Any]) -> str:
    from reactor.resource.escaping import escaped

    lines = ["Session Summary", ""]
    lines += [f"{label + ':':>22} {report[key]}" for key, label in _LABELS.items()]
    if report["troubles"]:
        lines += ["", *(escaped(f"{ref}: {why}") for ref, why in report["troubles"].items())]
    return "".join(f"{each}\n" for each in lines)
