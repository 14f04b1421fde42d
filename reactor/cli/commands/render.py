"""``reactor render``: shows a manifest with its data and expressions resolved."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import click

from reactor.cli import exitcodes
from reactor.cli.messages import notice, reporting_manifest_errors, warn
from reactor.cli.options.inputs import external_option, manifests_argument, readonly_inputs_options

if TYPE_CHECKING:
    from reactor.manifest.inputs import Inputs


@click.command(short_help="Show a manifest with data and expressions resolved.")
@manifests_argument
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True,
    help="Write this format.",
)  # fmt: skip
@external_option
@readonly_inputs_options
def render(
    manifests: tuple[str, ...],
    form: Literal["yaml", "json"],
    external: tuple[str, ...],
    inputs: Callable[[], Inputs],
) -> None:
    """Show MANIFEST with defaults merged, data resolved and expressions evaluated for this host.

    Expressions that are evaluated only when their resource is checked are shown as written. Secrets are masked.
    Nothing is changed. Several manifests become several YAML documents, or a JSON list.

    Exit codes: 0 done; 2 bad usage or an invalid manifest.

    \b
    Examples:
      reactor render site.yaml
      reactor render --format json --fact role=db site.yaml
    """
    show_rendered(manifests, form, inputs, exitcodes.BAD_USAGE, external)


def show_rendered(
    manifests: tuple[str, ...],
    form: Literal["yaml", "json"],
    inputs: Callable[[], Inputs],
    bad_usage: int,
    external: tuple[str, ...] = (),
) -> None:
    """Write the rendered manifests to stdout. An invalid manifest ends the command with the exit code ``bad_usage``."""
    with reporting_manifest_errors(as_json=form == "json", exit_code=bad_usage):
        text = _rendered_text(manifests, form, inputs(), external)
    click.echo(text, nl=False)


def _rendered_text(
    names: tuple[str, ...], form: Literal["yaml", "json"], inputs: Inputs, external: tuple[str, ...]
) -> str:
    """The rendered manifests. Raises ManifestError."""
    from reactor.cli.values import json_text
    from reactor.cli.yaml_text import yaml_text
    from reactor.loading import validated
    from reactor.manifest.directories import is_directory
    from reactor.manifest.rendering import rendered
    from reactor.resource.late_loop import LateLoop

    manifest, _ = validated(names, inputs, warn, external)
    for loop in manifest.resources:
        if isinstance(loop, LateLoop):
            notice(f"{loop.declared.place}: {loop.unknown}", None)
    parts = [rendered(manifest, part) for part in manifest.parts]
    is_one = len(names) == 1 and not is_directory(names[0])
    if form == "json":
        return json_text(parts[0] if is_one else parts) + "\n"
    return yaml_text(parts[0]) if is_one else "".join(f"---\n{yaml_text(part)}" for part in parts)
