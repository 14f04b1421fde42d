"""``reactor render``: shows a manifest with its data and expressions resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

import click

from reactor.cli import exitcodes
from reactor.cli.messages import notice, reporting_manifest_errors, warn
from reactor.cli.options.inputs import external_option, manifests_argument, readonly_inputs_options

if TYPE_CHECKING:
    from reactor.manifest.inputs import Inputs
    from reactor.resource.base import Resource


@click.command(short_help="Show a manifest with data and expressions resolved.")
@manifests_argument
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True,
    help="Write this format.",
)  # fmt: skip
@click.option(
    "--children", is_flag=True, help="Show child manifests and roles too, each as a further document.",
)  # fmt: skip
@external_option
@readonly_inputs_options
def render(
    manifests: tuple[str, ...],
    form: Literal["yaml", "json"],
    children: bool,
    external: tuple[str, ...],
    inputs: Callable[[], Inputs],
) -> None:
    """Show MANIFEST with defaults merged, data resolved and expressions evaluated for this host.

    Expressions that are evaluated only when their resource is checked are shown as written; those of a loop or role
    get what they use of it: {{ let item = 'a'; ... }}. Secrets are masked. Nothing is changed. Several manifests become
    several YAML documents, or a JSON list.

    Exit codes: 0 done; 2 bad usage or an invalid manifest.

    \b
    Examples:
      reactor render site.yaml
      reactor render --format json --fact role=db site.yaml
    """
    show_rendered(manifests, form, inputs, exitcodes.BAD_USAGE, external, children=children)


def show_rendered(
    manifests: tuple[str, ...],
    form: Literal["yaml", "json"],
    inputs: Callable[[], Inputs],
    bad_usage: int,
    external: tuple[str, ...] = (),
    *,
    children: bool = False,
) -> None:
    """Write the rendered manifests to stdout. An invalid manifest ends the command with the exit code ``bad_usage``."""
    with reporting_manifest_errors(as_json=form == "json", exit_code=bad_usage):
        text = _rendered_text(manifests, form, inputs(), external, children=children)
    click.echo(text, nl=False)


def _rendered_text(
    names: tuple[str, ...],
    form: Literal["yaml", "json"],
    inputs: Inputs,
    external: tuple[str, ...],
    *,
    children: bool,
) -> str:
    """The rendered manifests. Raises ManifestError."""
    from reactor.cli.values import json_text
    from reactor.cli.yaml_text import yaml_text
    from reactor.loading import validated
    from reactor.manifest.directories import is_directory
    from reactor.manifest.rendering import rendered, rendered_child

    manifest, _ = validated(names, inputs, warn, external)
    _note_deferred_loops(manifest.resources)
    parts = [rendered(manifest, part) for part in manifest.parts]
    if children:
        parts += (rendered_child(manifest, ref, part) for ref, part in manifest.children)
    is_one = len(names) == 1 and not is_directory(names[0]) and not children
    if form == "json":
        return json_text(parts[0] if is_one else parts) + "\n"
    return yaml_text(parts[0]) if is_one else "".join(f"---\n{yaml_text(part)}" for part in parts)


def _note_deferred_loops(resources: Iterable[Resource]) -> None:
    """Say which loops are shown as written, because their elements are not known."""
    from reactor.resource.deferred_loop import DeferredLoop

    for loop in resources:
        if isinstance(loop, DeferredLoop):
            notice(f"{loop.declared.place}: {loop.unknown}", None)
