"""``reactor schema``: the JSON Schema of manifests."""

from __future__ import annotations

import click


@click.command(short_help="Print the JSON Schema of manifests.")
def schema() -> None:
    """Print the JSON Schema of manifests, with every installed kind.

    Editors use it to complete and check manifests: save it, and name it in the first line of a manifest,
    '# yaml-language-server: $schema=reactor.schema.json', or in the key '$schema'.

    \b
    Examples:
      reactor schema > reactor.schema.json
    """
    import json

    from reactor.manifest.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
