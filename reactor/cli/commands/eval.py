"""``reactor eval``: the value of an expression on this host."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from reactor.cli import exitcodes
from reactor.cli.messages import reporting_manifest_errors, warn
from reactor.cli.options.common import ValueFormat, value_format_option, yaml_option
from reactor.cli.options.inputs import MANIFEST, readonly_inputs_options
from reactor.cli.values import show
from reactor.resource.redaction import redacted

if TYPE_CHECKING:
    from reactor.manifest.expression_context import ExpressionContext
    from reactor.manifest.inputs import Inputs

_NAME = "EXPRESSION"


@click.command(short_help="Evaluate an expression.")
@click.argument("expression")
@click.option("--manifest", "-m", metavar="FILE", type=MANIFEST, help="Use the data of this manifest.")
@value_format_option
@yaml_option
@readonly_inputs_options
def eval(  # noqa: A001 - a command is the function of its name
    expression: str, manifest: str | None, form: ValueFormat | None, inputs: Callable[[], Inputs]
) -> None:
    """Show the value of EXPRESSION, as a manifest on this host would have it.

    EXPRESSION is written without {{ }}, as in 'control: {if: ...}', or is a string with {{ }} in it, as in the value of
    a property. It can use Facts, Environ, and the Data of --manifest, --data and --data-file. Paths of files are
    relative to the directory of the manifest, or to the current directory. Secrets are masked.

    Exit codes: 0 done; 1 the expression is invalid or fails; 2 bad usage or invalid data.

    \b
    Examples:
      reactor eval 'Facts.host.info.hostname'
      reactor eval 'len(Data.users) > 1' --manifest site.yaml
      reactor eval 'port {{ Data.web.port + 1 }}' --data web.port=8080
    """
    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE):
        context = _context(expression, manifest, inputs())
    with reporting_manifest_errors(as_json=False, exit_code=1):
        value = _value(expression, context)
    for warning in context.new_warnings():
        warn(warning)
    show(redacted(value), form)


def _context(expression: str, manifest: str | None, inputs: Inputs) -> ExpressionContext:
    """The names and functions for the expression. Raises ManifestError if the data are invalid."""
    from reactor.manifest.source import Source

    data: dict[str, Any] = dict(inputs.data)
    secrets = inputs.secrets
    base = os.getcwd()
    if manifest is not None:
        from reactor.cli.commands.data import resolved_data

        resolved = resolved_data(manifest, inputs)
        data, secrets, base = resolved.values, resolved.secrets, os.path.dirname(os.path.abspath(manifest))
    source = Source(os.path.join(base, _NAME), expression)
    return inputs.expression_context(source, data, frozenset(secrets), strict=True)


def _value(expression: str, context: ExpressionContext) -> Any:
    """The value. Raises ManifestError with the place in the expression."""
    from reactor.language.errors import ExpressionError
    from reactor.language.expression import parse_template
    from reactor.manifest.evaluation import bare_expression, report_expression
    from reactor.manifest.source import Problems, Source
    from reactor.resource.diagnostic import ManifestError

    problems = Problems(Source(_NAME, expression))
    try:
        if (template := parse_template(expression)) is not None:
            return template.value(context.scope)
        return bare_expression(expression).evaluate(context.scope, hides=True)
    except ExpressionError as error:
        report_expression(error, problems, 0, expression)
        raise ManifestError(problems.sorted(), texts={_NAME: expression}) from None
