"""docs/expressions.md says what the language does: every example of it is run."""

import json
import re
from pathlib import Path

import pytest
import yaml

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_expression, parse_template
from reactor.language.expression.builtins import BUILTINS, PREDICATES
from reactor.language.expression.scope import Scope

PAGE = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text()
ROOTS = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])
SCOPE = Scope(ROOTS, strict=True)


def rows(*heading):
    """The rows of all tables with this heading: what stands in backticks, pipes given back."""
    line = re.escape(f"| {' | '.join(heading)} |")
    tables = re.findall(rf"^{line}\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    found = [
        tuple(cell.replace(r"\|", "|") for cell in re.match(r"\| `(.*)` \| `(.*)` \|$", row).groups())
        for table in tables
        for row in table.splitlines()
    ]
    assert found
    return found


@pytest.mark.parametrize(("text", "expected"), rows("text", "gives"))
def test_every_text_gives_what_the_page_says(text, expected):
    template = parse_template(text)
    assert (text if template is None else template.value(SCOPE)) == json.loads(expected)


@pytest.mark.parametrize(("source", "expected"), rows("expression", "value"))
def test_every_expression_has_the_value_the_page_says(source, expected):
    value = parse_expression(source).evaluate(SCOPE)
    assert value == json.loads(expected)
    assert type(value) is type(json.loads(expected))


@pytest.mark.parametrize(("source", "message"), rows("expression", "error"))
def test_every_error_is_the_one_the_page_quotes(source, message):
    with pytest.raises(ExpressionError) as caught:
        parse_expression(source).evaluate(SCOPE)
    assert caught.value.message == message


def test_every_function_is_on_the_page():
    table = PAGE.partition("## Functions")[2].partition("In a predicate")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted((*BUILTINS, *PREDICATES))
