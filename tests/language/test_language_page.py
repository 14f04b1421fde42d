"""docs/manifest-language.md: its examples are manifests, and the error it shows is the one there is."""

import re
from pathlib import Path

import pytest

from reactor import ManifestError, Resource, load
from reactor.manifest.inputs import Inputs
from reactor.manifest.report import render
from reactor.resource.registry import find_kind, kind_names

PAGE = (Path(__file__).parents[2] / "docs/manifest-language.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_a_valid_manifest(tmp_path, number):
    text = EXAMPLES[number]
    path = tmp_path / "site.yaml"
    path.write_text(text if "resources:" in text else f"{text}resources: []\n")
    inputs = Inputs({"host": {"info": {"platformFamily": "debian"}}})
    assert load(str(path), inputs).path == str(path)


def test_the_error_it_shows_is_the_one_there_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [shown] = re.findall(r"```text\n(typo.yaml:.*?)```", PAGE, re.DOTALL)
    lines = dict(re.findall(r"^ +(\d+) \| (.*)$", shown, re.MULTILINE))
    Path("typo.yaml").write_text(f"# a typo\nresources:\n{lines['3']}\n{lines['4']}\n")
    with pytest.raises(ManifestError) as caught:
        load("typo.yaml")
    assert render(caught.value.diagnostics, color=False).startswith(shown)


def test_every_kind_that_gives_something_is_in_the_table():
    table = re.search(r"\| kind \| outputs \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)[1]
    kinds = {kind for kind in kind_names() if find_kind(kind).outputs is not Resource.outputs}
    rows = re.findall(r"^\| ([\w, ]+) \|", table, re.MULTILINE)
    assert {kind for row in rows for kind in row.split(", ")} == {*kinds, "any other"}
