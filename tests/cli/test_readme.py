"""What is told in tables of the README and the pages is there, no less and no more."""

import re
from pathlib import Path

from reactor.cli.commands.example import example
from reactor.resource.common_properties import Meta
from reactor.resource.registry import kind_names

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_readme_can_be_read_in_one_go():
    assert len(README.splitlines()) <= 160


def test_the_readme_has_two_commands_before_all_else():
    """CI runs the second one."""
    assert len(re.findall(r"^```sh$", README, re.MULTILINE)) == 2
    first, second = re.findall(r"^```sh\n(.*)\n```$", README, re.MULTILINE)
    assert first.startswith("scripts/setup && ")
    assert second == "scripts/setup dev && .venv/bin/pytest"


def test_the_table_names_every_kind_once_and_leads_to_its_page():
    found = re.findall(r"[|;] \[`(\w+)`\]\((docs/kinds/\w+\.md)\) \w", README)
    assert sorted(found) == [(kind, f"docs/kinds/{kind}.md") for kind in kind_names()]


def test_every_page_and_picture_that_the_readme_names_is_there():
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_example_is_offered_and_every_offer_is_there():
    (names,) = (parameter.type.choices for parameter in example.params if parameter.name == "name")
    assert {f"{name}.yaml" for name in names} == {path.name for path in (ROOT / "examples").glob("*.yaml")}


def test_every_meta_property_is_explained():
    page = (ROOT / "docs" / "meta.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert rows == list(Meta.model_fields)
