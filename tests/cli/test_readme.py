"""The tables of the README name what there is, no less and no more."""

import re
from pathlib import Path

from reactor.cli.example import example
from reactor.cli.group import COMMANDS
from reactor.cli.run import run
from reactor.resource.base import Meta, Resource
from reactor.resource.registry import find_kind, kind_names

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def table_after(heading):
    section = README.partition(heading)[2]
    rows = re.search(r"\|---.*?\n((?:\|.*\n)+)", section).group(1)
    return [re.findall(r"`([^`]+)`", row.split(" | ")[0]) for row in rows.splitlines()]


def test_every_property_of_every_kind_is_in_its_table():
    common = set(Resource.model_fields)
    assert [name for (name,) in table_after("Every resource has:")] == list(Resource.model_fields)
    for kind in kind_names():
        fields = find_kind(kind).model_fields.items()
        own = [field.alias or name for name, field in fields if name not in common]
        assert [name for (name,) in table_after(f"### {kind}\n")] == own


def test_every_meta_property_is_named():
    row = next(line for line in README.splitlines() if line.startswith("| `meta` |"))
    assert re.findall(r"`(\w+)`", row)[1:] == list(Meta.model_fields)


def test_every_command_and_every_option_of_run_is_in_a_table():
    commands = {row[0].split()[1] for row in table_after("Each has `--help`")}
    assert commands == set(COMMANDS)
    options = {name.split()[0] for row in table_after("Options of `run`:") for name in row}
    declared = {option.opts[0] for option in run.params if option.param_type_name == "option"}
    assert options | {"--converge-once"} == declared


def test_every_example_is_offered_and_every_offer_is_there():
    (names,) = (parameter.type.choices for parameter in example.params if parameter.name == "name")
    assert {f"{name}.yaml" for name in names} == {path.name for path in (ROOT / "examples").glob("*.yaml")}


def test_every_meta_property_is_explained():
    page = (ROOT / "docs" / "meta.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert rows == list(Meta.model_fields)
