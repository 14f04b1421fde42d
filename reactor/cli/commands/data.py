"""``reactor data``: the data of a manifest as resolved on this host, and the layer of each value."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from reactor.cli import exitcodes
from reactor.cli.messages import reporting_manifest_errors, warn
from reactor.cli.options.common import ValueFormat, value_format_option, yaml_option
from reactor.cli.options.inputs import MANIFEST, readonly_inputs_options
from reactor.cli.values import LayeredValue, look_up, show
from reactor.resource.redaction import redacted

if TYPE_CHECKING:
    from reactor.data.layers import LeafPath
    from reactor.data.resolve import Resolved
    from reactor.manifest.inputs import Inputs


@click.command(short_help="Show the data of a manifest on this host.")
@click.argument("manifest", type=MANIFEST)
@click.argument("query", required=False)
@click.option("--explain", is_flag=True, help="Show the layer that each value comes from.")
@value_format_option
@yaml_option
@click.option("--env", is_flag=True, help="Write lines KEY=VALUE for a shell, one for each top-level key.")
@click.option(
    "--env-prefix",
    default="HIERA",
    show_default=True,
    metavar="PREFIX",
    help="Begin each KEY with PREFIX.",
)
@click.option(
    "--env-facts", "-E", is_flag=True, help="Use environment variables as facts. --facts overrides them."
)
@readonly_inputs_options
def data(
    manifest: str,
    query: str | None,
    explain: bool,
    form: ValueFormat | None,
    env: bool,
    env_prefix: str,
    env_facts: bool,
    inputs: Callable[[], Inputs],
) -> None:
    """Show the data of MANIFEST, resolved for this host, or the value at the path QUERY.

    MANIFEST may also be a file with data only, or a URL. QUERY is a path as in lookup('data.PATH'). Values whose key
    is annotated @secret are masked. Resources are not read, so this works even if they have errors.

    Exit codes: 0 done; 1 there is no such key; 2 bad usage or invalid data.

    \b
    Examples:
      reactor data site.yaml
      reactor data site.yaml web.port --explain
      reactor data site.yaml --fact role=db --data web.port=8080
      reactor data site.yaml --env --env-prefix APP
    """
    from reactor.data.resolve import masked
    from reactor.resource.redaction import MASK

    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE):
        known = inputs()
        resolved = resolved_data(manifest, with_variables(known) if env_facts else known)
    if env and (explain or form is not None):
        raise click.UsageError("--env can't be used with --format or --explain")
    values: Any = masked(resolved.values, resolved.secrets, MASK)
    # `masked` masks known paths, but a YAML alias may have copied a secret to another key.
    values = _explained(values, resolved.layers) if explain else redacted(values)
    wanted = look_up(values, query, "key")
    if env:
        click.echo(variables(wanted if query is None else {"value": wanted}, env_prefix), nl=False)
    else:
        show(wanted, form)


def resolved_data(manifest: str, inputs: Inputs) -> Resolved:
    """The data of the manifest. Raises ManifestError."""
    from reactor.data.resolve import Layer
    from reactor.loading import data_located, with_site
    from reactor.manifest.data_sections import data_of, sections_of, warning
    from reactor.manifest.site_data import SiteData
    from reactor.manifest.source import Problems, read_source
    from reactor.resource.diagnostic import Diagnostic, ManifestError

    inputs = with_site(inputs, warn)
    source = read_source(data_located(manifest, inputs, warn))
    if isinstance(source, Diagnostic):
        raise ManifestError([source])
    problems = Problems(source)
    root = sections_of(problems)
    strict = "resources" in root  # a file with only data may be for either form of manifest
    site = SiteData(inputs.site, inputs, strict=strict) if inputs.site is not None else None
    over = (*((site.layer,) if site else ()), Layer("the command line", inputs.data, inputs.secrets))
    resolved = data_of(root, problems, inputs, over, strict=strict)
    if site is not None:
        site.check(resolved.values, resolved.secrets)
    if found := [*problems.sorted(), *(site.problems.sorted() if site else ())]:
        raise ManifestError(found)
    for text in [
        *inputs.remarks,
        *(warning(each, source) for each in resolved.warnings),
        *(site.warnings if site else ()),
    ]:
        warn(text)
    return resolved


def _explained(value: Any, layers: Mapping[LeafPath, str], path: LeafPath = ()) -> Any:
    """The tree with each leaf replaced by its redacted value and its layer."""
    if path in layers:
        return LayeredValue(redacted(value), layers[path])
    if isinstance(value, dict):
        return {key: _explained(inner, layers, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_explained(inner, layers, (*path, index)) for index, inner in enumerate(value)]
    return value


_NO_NAME = re.compile(r"[^A-Z0-9_]")


def variables(values: Mapping[str, Any], prefix: str) -> str:
    """A line ``PREFIX_KEY=VALUE`` for each value, sorted and quoted for a shell. Lists and maps are JSON."""
    lines = (f"{_name(prefix, key)}={shlex.quote(_text(values[key]))}\n" for key in sorted(values))
    return "".join(lines)


def with_variables(inputs: Inputs) -> Inputs:
    """The inputs with environment variables as facts. They override the facts of the host, but not those of options."""
    from reactor.facts.facts import Facts

    if not isinstance(inputs.facts, Facts):
        return inputs
    return inputs._replace(facts=inputs.facts.with_fallbacks(inputs.environ))


def _name(prefix: str, key: str) -> str:
    return _NO_NAME.sub("_", f"{prefix}_{key}".upper())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
