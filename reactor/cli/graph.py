"""``reactor graph``: show what depends on what."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reactor.cli import exitcodes
from reactor.cli.completion_candidates import complete_manifest
from reactor.cli.inputs import external_option, inputs_options, manifests_argument
from reactor.cli.manifests import rejecting
from reactor.cli.messages import fail, fail_for, hinted
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
"""The formats, each with the suffixes it is guessed from."""

DEFAULT_DEPTH = 2


@click.command(short_help="Show what depends on what.")
@manifests_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="The format.  [default: by the suffix of the output file, else dot]",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE, not to stdout."
)
@click.option(
    "--state", is_flag=True, help="Check every resource, changing nothing, and colour it by what was found."
)
@click.option(
    "--around",
    metavar="REF",
    shell_complete=complete_manifest,
    help="Only this resource and its neighbourhood.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"How many edges away the neighbourhood reaches.  [default: {DEFAULT_DEPTH}]",
)
@external_option
@inputs_options
def graph(
    manifests: tuple[str, ...],
    form: str | None,
    output: Path | None,
    state: bool,
    around: str | None,
    depth: int | None,
    external: tuple[str, ...],
    inputs: Callable[[], Inputs],
) -> None:
    """Show the resources of MANIFEST and the order between them.

    Solid edges are `require`, bold ones `subscribe`, dashed ones were found by reactor, dotted ones are order only.
    The same manifest gives the same bytes, so a picture can be kept beside it in version control. svg and html
    need nothing installed; the html page pans, zooms, searches and shows properties, offline. png needs Graphviz.

    Exit codes: 0 done; 1 the picture can't be made; 2 bad usage or an invalid manifest.

    \b
    Examples:
      reactor graph site.yaml -o site.html
      reactor graph --state --format svg site.yaml > site.svg
      reactor graph --around 'file#/etc/nginx' --format mermaid site.yaml
    """
    from reactor.graph.select import around as neighbourhood
    from reactor.loading import load

    form = form or _guess(output)
    if depth is not None and around is None:
        error = click.UsageError("--depth tells how far to go around a resource, and none is named")
        raise hinted(error, "name it with --around REF")
    if form == "png" and output is None and sys.stdout.isatty():
        raise hinted(click.UsageError("a PNG would garble the terminal"), "write it to a file with -o FILE")
    looking = nullcontext() if state else trust_everybody()  # a fresh check may run commands
    with rejecting(as_json=False, exit_code=exitcodes.BAD_USAGE), looking:
        whole = load(manifests, inputs(), external).graph
        shown = (
            whole
            if around is None
            else neighbourhood(whole, around, DEFAULT_DEPTH if depth is None else depth)
        )
    states = _states(whole) if state else None
    _write(_exported(shown, form, states), output)


def _guess(output: Path | None) -> str:
    if output is None:
        return "dot"
    for form, suffixes in FORMATS.items():
        if output.suffix.lower() in suffixes:
            return form
    error = click.UsageError(f"the name {output.name} does not tell a format")
    raise hinted(error, f"add --format, one of {', '.join(FORMATS)}")


def _states(whole: Graph) -> dict[str, str]:
    from reactor.cli.engine_run import look
    from reactor.journal.state_directory import locate
    from reactor.resource.backup_store import state_directory_for

    location = locate()
    with state_directory_for(location.path if location else None):
        states, interruption = look(whole, lambda message: click.echo(message, err=True))
    if interruption.taken:
        raise click.exceptions.Exit(exitcodes.of_signal(interruption.number))
    return states


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
