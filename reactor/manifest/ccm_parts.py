"""The two parts of the ``ccm:`` form that are rendered: a list of resources from a Jet template, and messages."""

from __future__ import annotations

import os.path

from reactor.language.errors import ExpressionError, FunctionError
from reactor.language.expression import parse_template
from reactor.language.secrets import SecretText
from reactor.manifest.document import Message
from reactor.manifest.evaluation import report_expression
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.nodes import Sequence
from reactor.manifest.phrasing import shown
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import parse


def rendered_entries(
    file: str, at: int, expression_context: ExpressionContext, problems: Problems, table: ResourceTable
) -> tuple[Sequence | None, Problems]:
    """Return the list of resources that the Jet template ``file`` renders, and the problems of that output."""
    try:
        text = expression_context.expression_functions.rendered(
            file if file.endswith(".jet") else expression_context.expression_functions.read_file(file)
        )
    except FunctionError as error:
        problems.add("R0307", f"resources_jet_file: {error.message}", at, error.hint)
        return None, problems
    finally:
        expression_context.scope.warnings.locate(at, file)
    name = f"{os.path.join(os.path.dirname(problems.source.file), file)} (rendered)"
    rendered = Problems(Source(name, str(text), isinstance(text, SecretText)))
    _keep_text(rendered.source, table)
    entries = parse(rendered)
    if not entries and not rendered:
        hint = "check it for syntax errors: [[ ]] are its delimiters"
        problems.add("R0307", "resources jet template produced no output, check for syntax errors", at, hint)
    elif entries is not None and not isinstance(entries, Sequence):
        message = f"the template must give a list of resources, not {shown(entries)}"
        rendered.add("R0105", message, 0, "begin each entry with '- ', as in '- file:'")
    return (entries if isinstance(entries, Sequence) else None), rendered


def _keep_text(source: Source, table: ResourceTable) -> None:
    """Keep the text of ``source`` for excerpts, unless it is secret, or two different texts have that name."""
    if not source.is_secret:
        text = table.texts.setdefault(source.file, source.text)
        table.texts[source.file] = text if text == source.text else ""


def rendered_message(message: Message, expression_context: ExpressionContext, problems: Problems) -> Message:
    """Return ``message`` with its expressions evaluated. Errors are added to ``problems``."""
    if (template := parse_template(message.text)) is None:
        return message
    try:
        return Message(template.render(expression_context.scope), message.at)
    except ExpressionError as error:
        report_expression(error, problems, message.at, message.text)
        return message
    finally:
        expression_context.scope.warnings.locate(message.at, message.text)
