"""``reactor graph``: exports the dependency graph."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reactor.cli import exitcodes
from reactor.cli.completion_candidates import complete_manifest
from reactor.cli.messages import (
    fail,
    fail_for,
    notice,
    reporting_manifest_errors,
    reporting_refusals,
    warn,
    with_hint,
)
from reactor.cli.options.inputs import external_option, inputs_options, manifests_argument
from reactor.cli.options.state_dir import directory_of, state_dir_option
from reactor.trust.inputs import trust_everybody

if TYPE_CHECKING:
    from reactor.graph.graph import Graph
    from reactor.manifest.inputs import Inputs

FORMATS = {
    "dot": (".dot", ".gv"),
    "mermaid": (".mmd", ".mermaid"),
    "json": (".json",),
    "svg": (".svg",),
    "png": (".png",),
    "html": (".html", ".htm"),
}
"""The formats, each with the file name suffixes that select it."""

STATES = ("ok", "changed", "would_change", "failed", "blocked", "waiting", "skipped", "unknown")
DEFAULT_DEPTH = 2


@click.command(short_help="Export the dependency graph.")
@manifests_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="Write this format.  [default: by the suffix of FILE, else dot]",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead of stdout."
)
@click.option("--state", is_flag=True, help="Check every resource in a dry run, and colour it by its state.")
@click.option(
    "--around",
    metavar="REF",
    shell_complete=complete_manifest,
    help="Export only this resource and its neighbours.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Include neighbours up to N edges away.  [default: {DEFAULT_DEPTH}]",
)
@click.option(
    "--only",
    multiple=True,
    metavar="REF",
    shell_complete=complete_manifest,
    help="Export only these resources. REF may be a glob: 'service#*', 'file#/etc/*'. Repeatable.",
)
@click.option(
    "--in-state",
    multiple=True,
    type=click.Choice(STATES),
    help="Export only resources in this state: by the active run or at the end of the last one, with --state by a dry run. Repeatable.",
)
@state_dir_option
@external_option
@inputs_options
def graph(
    manifests: tuple[str, ...],
    form: str | None,
    output: Path | None,
    state: bool,
    around: str | None,
    depth: int | None,
    only: tuple[str, ...],
    in_state: tuple[str, ...],
    state_dir: str | None,
    external: tuple[str, ...],
    inputs: Callable[[], Inputs],
) -> None:
    """Export the dependency graph of MANIFEST: its resources and the order between them.

    Solid edges are `require`, bold ones `subscribe`, dashed ones automatic, dotted ones order only; dotted ones with
    an open arrow lead from the members of a role or child manifest to it. The output depends
    only on the manifest, so it can be kept in version control. The html page works offline: it pans, zooms, searches
    and shows properties. svg and html need no other program; png needs Graphviz.

    Of a large graph, --around, --only and --in-state export a part: the resources that fit all of them. An order that leads through
    others is kept as one edge.

    Exit codes: 0 done; 1 the export failed; 2 bad usage or an invalid manifest.

    \b
    Examples:
      reactor graph site.yaml -o site.html
      reactor graph --state --format svg site.yaml > site.svg
      reactor graph --around 'file#/etc/nginx' --format mermaid site.yaml
      reactor graph --in-state failed --in-state blocked -o failed.svg site.yaml
    """
    from reactor.loading import load

    form = form or _guess(output)
    _check_usage(form, output, around, depth)
    # With --state, checks may run commands, so only the files that a run trusts are read.
    trust = nullcontext() if state else trust_everybody()
    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE), trust:
        whole = load(manifests, inputs(), external).graph
        shown = _part(whole, around, DEFAULT_DEPTH if depth is None else depth, only)
    states = _states(whole) if state else _known_states(directory_of(state_dir)) if in_state else None
    if in_state and states is not None:
        shown = _in_state(shown, states, in_state)
    _write(_exported(shown, form, states), output)


def _part(whole: Graph, around: str | None, depth: int, only: tuple[str, ...]) -> Graph:
    """The resources near ``around`` that match ``only``. Raises ManifestError."""
    from reactor.graph import select

    near = whole if around is None else select.around(whole, around, depth)
    return select.restricted(near, select.matching(whole, only)) if only else near


def _in_state(near: Graph, states: dict[str, str], wanted: tuple[str, ...]) -> Graph:
    """The resources in one of the ``wanted`` states. Says if there is none."""
    from reactor.graph.select import restricted

    shown = restricted(near, {ref for ref in near.refs if states.get(ref, "unknown") in wanted})
    if not shown.refs:
        notice(f"no resource has the state {' or '.join(wanted)}", None)
    return shown


def _check_usage(form: str, output: Path | None, around: str | None, depth: int | None) -> None:
    if depth is not None and around is None:
        error = click.UsageError("--depth needs --around")
        raise with_hint(error, "add --around REF")
    if form == "png" and output is None and sys.stdout.isatty():
        error = click.UsageError("a PNG can't be written to a terminal")
        raise with_hint(error, "write to a file with -o FILE")


def _guess(output: Path | None) -> str:
    if output is None:
        return "dot"
    for form, suffixes in FORMATS.items():
        if output.suffix.lower() in suffixes:
            return form
    error = click.UsageError(f"the name {output.name} has no suffix of a format")
    raise with_hint(error, f"add --format, one of {', '.join(FORMATS)}")


def _states(whole: Graph) -> dict[str, str]:
    from reactor.cli.running.engine_run import check_states
    from reactor.journal.state_directory import locate
    from reactor.resource.backup_store import state_directory_for

    location = locate()
    with state_directory_for(location.path if location else None):
        states, interruption = check_states(whole, lambda message: click.echo(message, err=True))
    if interruption.taken:
        raise click.exceptions.Exit(exitcodes.signal_code(interruption.number))
    return states


def _known_states(directory: str) -> dict[str, str]:
    """The state of each resource by the active run, else at the end of the last one. Checks nothing."""
    from reactor.control.client import Client, NoRunError
    from reactor.control.last_run import last_status
    from reactor.control.pause_file import PauseFile
    from reactor.control.protocol import StatusQuery
    from reactor.journal.history import History, HistoryError

    query = StatusQuery(everything=True)
    with reporting_refusals():
        try:
            answer = Client(directory).status(query)
        except NoRunError:
            try:
                with closing(History(directory, at_once=True)) as history:
                    answer = last_status(PauseFile(directory, warn), history, query)
            except HistoryError as error:
                fail_for(error, 1)
    return {record["ref"]: record["state"] for record in answer["resources"]}


def _exported(shown: Graph, form: str, states: dict[str, str] | None) -> bytes:
    from reactor.graph.export import export
    from reactor.graph.export.png import GraphvizError

    try:
        picture = export(shown, form, states)
    except GraphvizError as error:
        fail_for(error, 1)
    return picture if isinstance(picture, bytes) else picture.encode()


def _write(picture: bytes, output: Path | None) -> None:
    from reactor.cli.output_files import replace_output
    from reactor.resource.plan import ResourceError

    if output is None:
        click.echo(picture, nl=False)
        return
    try:
        replace_output(str(output), picture)
    except ResourceError as error:
        fail("R0704", f"can't write {output}: {error.message}", error.hint, 1)
    except OSError as error:
        fail("R0704", f"can't write {output}: {error.strerror}", None, 1)
