"""``reactor facts``: shows the facts about this host that manifests can use."""

from __future__ import annotations

import click

from reactor.cli import exitcodes
from reactor.cli.messages import reporting_manifest_errors, warn
from reactor.cli.options.common import ValueFormat, value_format_option, yaml_option
from reactor.cli.options.inputs import Given, facts_options, host_facts
from reactor.cli.values import look_up, show
from reactor.trust.inputs import trust_everybody


@click.command(short_help="Show the facts about this host.")
@click.argument("query", required=False)
@value_format_option
@yaml_option
@facts_options
def facts(query: str | None, form: ValueFormat | None, facts_given: Given) -> None:
    """Show the facts about this host, or the fact at the path QUERY.

    QUERY is a path as in lookup('facts.PATH'): keys and indices with dots between them, with all of gjson.

    Facts come from the host itself; from facts.json, facts.yaml and facts.d/*.{json,yaml} in /etc/choria/ccm and
    /etc/reactor, and in the same directories below ~/.config; from --facts; and from --fact. Later sources override
    earlier ones. A file that can't be read causes a warning.

    Exit codes: 0 done; 1 there is no such fact; 2 bad usage.

    \b
    Examples:
      reactor facts
      reactor facts host.info.platformFamily
      reactor facts 'network.addresses.#(default==true)#.address' --format json
    """
    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE), trust_everybody():
        known = host_facts(facts_given)
    try:
        show(look_up(known, query, "fact"), form)
    finally:
        for note in known.notes:
            warn(note)
