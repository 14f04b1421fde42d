"""docs/health-checks.md names what there is, no less and no more."""

import re
from pathlib import Path

import yaml

from reactor.resource.health import HealthCheck
from reactor.resources.health.goss.matchers import _MATCHERS
from reactor.resources.health.goss.rule import Rule
from reactor.resources.health.goss.rules import Rules

PAGE = (Path(__file__).parents[2] / "docs" / "health-checks.md").read_text()


def table(heading):
    """The rows of the table whose head begins with ``heading``, each cell as the names in it."""
    rows = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[re.findall(r"`([^`]+)`", cell) for cell in row.strip("| ").split(" | ")] for row in rows]


def test_every_property_of_a_check_is_on_the_page():
    assert [name for [name], *_ in table("property")] == list(HealthCheck.model_fields)


def test_every_rule_and_all_that_it_takes_is_on_the_page():
    shown = {name: (takes, expects) for [name], takes, expects in table("rule")}
    common = set(Rule.model_fields)
    schema = Rules.model_json_schema()["$defs"]
    for field, info in Rules.model_fields.items():
        if field == "gossfile":
            continue  # it is no rule, and told of below the table
        model = info.annotation.__args__[1]
        properties = {each.alias for name, each in model.model_fields.items() if name not in common}
        takes, expects = shown.pop(info.alias)
        assert {*takes, *expects} == properties, field
        details = schema[model.__name__]["properties"]
        untyped = {name for name in properties if not {"type", "anyOf"} & details.get(name, {}).keys()}
        assert set(expects) == untyped - {"content"}, "what expects something takes any matcher"
    assert not shown


def test_every_matcher_is_on_the_page():
    rows = [names for names, *_ in table("matcher")][2:]
    assert {name for names in rows for name in names} == set(_MATCHERS)


def test_the_example_is_one():
    example = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])
    checks = example["resources"][0]["service"][0]["nginx"]["health_checks"]
    assert [HealthCheck(**check).label for check in checks] == ["front page", "goss"]
