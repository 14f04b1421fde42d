"""``reactor render``: the manifest as it is after loading."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import click

from reactor.cli import exitcodes
from reactor.cli.inputs import MANIFEST, looking_options
from reactor.cli.manifests import rejecting
from reactor.cli.messages import warn

if TYPE_CHECKING:
    from reactor.manifest.inputs import Inputs


@click.command(short_help="Show a manifest as it is after loading.")
@click.argument("manifest", type=MANIFEST)
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True,
    help="How to write it.",
)  # fmt: skip
@looking_options
def render(manifest: str, form: Literal["yaml", "json"], inputs: Callable[[], Inputs]) -> None:
    """Show MANIFEST with its defaults merged, its data resolved and its expressions evaluated for this host.

    Expressions that wait until their resource is checked, such as the content of a file, stay as they are written.
    Secrets are masked. Nothing is touched.

    Exit codes: 0 done; 2 bad usage or an invalid manifest.

    \b
    Examples:
      reactor render site.yaml
      reactor render --format json --fact role=db site.yaml
    """
    show_rendered(manifest, form, inputs, exitcodes.BAD_USAGE)


def show_rendered(
    manifest: str, form: Literal["yaml", "json"], inputs: Callable[[], Inputs], bad_usage: int
) -> None:
    """Write the manifest after loading to stdout, or end the command with ``bad_usage``."""
    with rejecting(as_json=form == "json", exit_code=bad_usage):
        text = rendered_text(manifest, form, inputs())
    click.echo(text, nl=False)


def rendered_text(path: str, form: Literal["yaml", "json"], inputs: Inputs) -> str:
    """The manifest at ``path`` after loading. Raises ManifestError."""
    from reactor.cli.values import json_text
    from reactor.cli.yaml_text import yaml_text
    from reactor.loading import validated
    from reactor.manifest.rendering import rendered

    manifest, _ = validated(path, inputs, warn)
    values = rendered(manifest)
    return json_text(values) + "\n" if form == "json" else yaml_text(values)
