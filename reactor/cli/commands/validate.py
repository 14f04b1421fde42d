"""``reactor validate``: finds every problem of manifests, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from reactor.cli import exitcodes
from reactor.cli.messages import show_diagnostics, show_warnings
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.inputs import external_option, forecasting_inputs_options, manifests_argument
from reactor.console.jsonlines import line
from reactor.number_format import counted
from reactor.resource.diagnostic import Diagnostic, ManifestError

if TYPE_CHECKING:
    from reactor.manifest.inputs import Inputs


@click.command(short_help="Find every problem of a manifest.")
@manifests_argument
@click.option("--together", is_flag=True, help="Validate all manifests as one, as 'reactor run' does.")
@external_option
@format_option("one JSON object per line")
@forecasting_inputs_options
def validate(
    manifests: tuple[str, ...],
    together: bool,
    external: tuple[str, ...],
    form: Format,
    inputs: Callable[[], Inputs],
) -> None:
    """Show every problem of each MANIFEST: in its syntax, properties, references and order, and in its templates.

    Each manifest is validated by itself, unless --together is set. The manifests in a directory are always validated
    together.

    It needs no root and no network, changes nothing, and reads no state of the host but symlinks that give one file two
    names. So it can run anywhere: in an editor, before a commit, in CI. It warns of files beside the manifest that are
    missing, and of those that other users could change, which 'reactor run' refuses.

    Exit codes: 0 all manifests are valid; 2 a manifest is invalid.

    \b
    Examples:
      reactor validate site.yaml
      reactor validate --format json manifests/*.yaml
      reactor validate /etc/reactor.d
      reactor validate web.yaml --external 'service#*'
    """
    from reactor.loading import shown

    invalid = False
    for names in (manifests,) if together else [(manifest,) for manifest in manifests]:
        manifest = names[0] if len(names) == 1 else shown(names)
        resources, error = _loaded(names, inputs, external)
        if error is not None:
            invalid = True
            problems = error.diagnostics if together else [*map(_with_way_out, error.diagnostics)]
            show_diagnostics(problems, as_json=form == "json", texts=error.texts)
        elif form == "json":
            click.echo(line({"event": "valid", "manifest": manifest, "resources": resources}), nl=False)
        else:
            click.echo(f"{manifest}: ok, {counted(resources, 'resource')}")
    if invalid:
        raise click.exceptions.Exit(exitcodes.BAD_USAGE)


def _with_way_out(problem: Diagnostic) -> Diagnostic:
    """The problem; that of a missing name says what to do if another manifest has it."""
    if problem.code != "R0202":
        return problem
    words = (
        "if another manifest declares it, validate them with --together, or accept its name with --external"
    )
    return problem._replace(notes=(*problem.notes, (words, None)))


def _loaded(
    names: tuple[str, ...], inputs: Callable[[], Inputs], external: tuple[str, ...]
) -> tuple[int, ManifestError | None]:
    """Load the manifest. Return the number of its resources, or its problems."""
    from reactor.cli.running.foresight import expected_failures, template_findings
    from reactor.loading import load

    try:
        program = load(names, inputs(), external)
    except ManifestError as error:
        templates = template_findings(error.valid, error.invalid_names)
        problems = [*error.diagnostics, *templates.errors]
        return 0, ManifestError(problems, error.files, error.texts)
    templates = template_findings(program.graph.resources.values())
    show_warnings((*program.warnings, *expected_failures(program), *templates.warnings))
    if templates.errors:
        return 0, ManifestError(templates.errors, program.files)
    return len(program.graph.resources), None
