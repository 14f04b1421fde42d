"""Error codes: every one that the code gives is explained, and every manifest in the catalogue gives its code."""

import re
from pathlib import Path

import pytest

from reactor import ManifestError, load
from reactor.error_codes import AREAS, catalogue
from reactor.manifest.report import render

ROOT = Path(__file__).parents[2]
CODES = catalogue()
MANIFESTS = [each for each in CODES.values() if "\n" in each.example]


def given():
    """Every code in the source, by itself as a string."""
    texts = (path.read_text() for path in (ROOT / "reactor").rglob("*.py"))
    return {code for text in texts for code in re.findall(r'"(R\d{4})"', text)}


def test_the_code_gives_exactly_the_codes_of_the_catalogue():
    assert given() == set(CODES)


def test_every_code_belongs_to_an_area_and_has_a_title_of_one_line():
    for code, each in CODES.items():
        assert code[:3] in AREAS
        assert "\n" not in each.title
        assert not each.title.endswith(".")
        assert each.meaning.endswith(".")
        assert each.fix.endswith(".")


@pytest.mark.parametrize("explanation", MANIFESTS, ids=lambda each: each.code)
def test_the_manifest_of_an_explanation_gives_its_code(explanation, tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(explanation.example)
    with pytest.raises(ManifestError) as caught:
        load(str(path))
    assert [each.code for each in caught.value.diagnostics] == [explanation.code]
    assert caught.value.code == explanation.code
    assert re.match(
        rf"\S+:\d+:\d+: error\[{explanation.code}\]: ", render(caught.value.diagnostics, color=False)
    )


def leaves(kind):
    yield kind
    for each in kind.__subclasses__():
        yield from leaves(each)


def test_every_error_has_a_code_and_is_drawn_in_the_tree():
    drawn = dict(re.findall(r"[├└]── (\w+) +(reactor\.\w+)", (ROOT / "reactor/errors.py").read_text()))
    sources = {path: path.read_text() for path in (ROOT / "reactor").rglob("*.py")}
    bases = {
        name: base
        for text in sources.values()
        for name, base in re.findall(r"^class (\w+)\((\w+)", text, re.MULTILINE)
    }
    derived = {"ReactorError"}
    while more := {name for name, base in bases.items() if base in derived} - derived:
        derived |= more
    assert set(drawn) == derived - {"ReactorError"}
    for name, package in drawn.items():
        assert any(
            f"class {name}(" in text
            for path, text in sources.items()
            if package.replace(".", "/") in str(path)
        )
