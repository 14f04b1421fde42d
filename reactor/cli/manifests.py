"""Tells what is wrong with a manifest, the same way in every command."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import click

from reactor.console.jsonlines import diagnostic_record, line
from reactor.console.style import wants_colour
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.redaction import redact


@contextmanager
def rejecting(*, as_json: bool, exit_code: int) -> Iterator[None]:
    """Report the problems of a manifest that can't be used and end the command with ``exit_code``."""
    try:
        yield
    except ManifestError as error:
        report(error.diagnostics, as_json=as_json, texts=error.texts)
        raise click.exceptions.Exit(exit_code) from error


def report(
    diagnostics: Sequence[Diagnostic], *, as_json: bool, texts: Mapping[str, str] | None = None
) -> None:
    """Show the problems on stderr; for a program that asked for JSON, on stdout too.

    ``texts`` are those of sources that are no files, by their names.
    """
    from reactor.manifest.report import render

    if as_json:
        click.echo("".join(line(diagnostic_record(each)) for each in diagnostics), nl=False)
    coloured = wants_colour(sys.stderr)
    click.echo(
        redact(render(diagnostics, color=coloured, texts=texts)).rstrip("\n"), err=True, color=coloured
    )
