"""The documentation as a site and as man pages, built for real: whole, on its own, and equal to the code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from site_pages import read_page

from reactor.cli.command_groups import KindGroup
from reactor.cli.group import reactor
from reactor.ensure.properties import properties_of
from reactor.error_codes import catalogue
from reactor.resource.base import Resource
from reactor.resource.registry import find_kind, kind_names

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "docs"
MAN_PAGES = ("reactor.1", "reactor-manifest.5", "reactor-kinds.7")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The directory of what ``scripts/docs`` has built. It fails for a warning."""
    directory = tmp_path_factory.mktemp("built")
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [ROOT / "scripts" / "docs", directory],
        env=os.environ | {"PYTHON": sys.executable, "PYTHONPATH": paths},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    return directory


@pytest.fixture(scope="module")
def pages(built):
    """What is in each page, by its path in the site."""
    site = built / "docs"
    return {str(path.relative_to(site)): read_page(path) for path in sorted(site.rglob("*.html"))}


def test_every_source_is_a_page_in_the_navigation(pages):
    sources = {str(path.relative_to(SOURCES).with_suffix(".html")) for path in SOURCES.rglob("*.md")}
    assert sources <= set(pages)
    assert sources - {"index.html"} == set(pages["index.html"].navigation)


def test_every_kind_has_a_page(pages):
    assert {f"kinds/{kind}.html" for kind in kind_names()} < set(pages)


def test_no_page_loads_anything_from_elsewhere(pages, built):
    loaded = {path for page in pages.values() for path in page.loads}
    assert loaded
    assert [path for path in loaded if re.match(r"(\w+:)?//", path)] == []
    styles = "".join(path.read_text() for path in built.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?!data:)\w+:|url\(['\"]?//|@import", styles) == []


def test_every_link_within_the_site_leads_somewhere(pages):
    broken = [
        f"{source}: {link}"
        for source, page in pages.items()
        for link in page.links
        if not re.match(r"\w+:", link) and not leads_somewhere(pages, source, link)
    ]
    assert broken == []


def leads_somewhere(pages, source, link):
    path, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(source), path)) if path else source
    return target in pages and (not anchor or anchor in pages[target].ids)


@pytest.mark.parametrize("kind", kind_names())
def test_the_properties_on_the_page_of_a_kind_are_those_of_the_code(pages, kind):
    model = find_kind(kind)
    rows = pages[f"kinds/{kind}.html"].tables[("property", "type", "default", "meaning")]
    expected = [each for each in properties_of(model) if each.field not in Resource.model_fields]
    ensure = next(each for each in properties_of(model) if each.field == "ensure")
    assert [row[0] for row in rows] == [", ".join(each.names) for each in (ensure, *expected)]
    for (_, kinds_of_values, default, meaning), each in zip(rows, (ensure, *expected), strict=True):
        assert set(each.shape.choices) <= set(re.findall(r"[\w-]+", kinds_of_values))
        assert (default == "required") is each.required
        assert bool(default) is (each.required or each.default is not None)
        assert meaning.startswith(each.meaning.replace("`", ""))
        assert ("outputs of other resources" in meaning) is (each.field in model.deferred_properties)


@pytest.mark.parametrize("kind", kind_names())
def test_the_page_of_a_kind_reports_what_it_does_by_itself(pages, kind):
    model = find_kind(kind)
    told = dict(pages[f"kinds/{kind}.html"].tables[("", "")])
    assert told["Listens to"]
    assert ("can't be undone" in told["With meta: {reverse: true}"]) is (model.reversal is Resource.reversal)
    assert re.findall(r"\w+", told.get("Providers", "").replace(" and ", " ")) == [*model.providers]


def every_command(context):
    kinds = kind_names() if isinstance(context.command, KindGroup) else ()
    for name in context.command.list_commands(context):
        if name not in kinds:
            inner = click.Context(context.command.get_command(context, name), info_name=name, parent=context)
            yield inner
            if isinstance(inner.command, click.Group):
                yield from every_command(inner)


def test_every_option_of_every_command_is_reported(pages):
    page = pages["commands.html"]
    commands = list(every_command(click.Context(reactor, info_name="reactor")))
    anchors = [each.command_path.replace(" ", "-") for each in commands]
    options = [
        f"cmdoption-{each.command_path.replace(' ', '-')}-{option.opts[0].lstrip('-')}"
        for each in commands
        for option in each.command.params
        if isinstance(option, click.Option)
    ]
    assert [each for each in (*anchors, *options) if each not in page.ids] == []
    assert "cmdoption-reactor-ensure-require" in page.ids


def test_every_error_code_has_a_section_on_its_page(pages):
    assert [code for code in catalogue() if code.lower() not in pages["errors.html"].ids] == []


def test_every_variable_of_ours_that_the_code_reads_is_reported():
    page = (SOURCES / "commands.md").read_text()
    code = "".join(path.read_text() for path in (ROOT / "reactor").rglob("*.py"))
    ours = set(re.findall(r"ENVIRONMENT_VARIABLE = \"(\w+)\"", code))
    assert ours
    assert [name for name in ours if f"`{name}`" not in page] == []


def files_below(directory):
    return {
        str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()
    }


def test_the_man_pages_and_completions_that_are_installed_are_those_of_the_code(built):
    ours, made = files_below(ROOT / "share"), files_below(built / "share")
    assert set(ours) == set(made)
    assert [name for name in made if ours[name] != made[name]] == [], "run scripts/docs, and commit share/"


@pytest.mark.parametrize("name", MAN_PAGES)
def test_a_man_page_is_shown_without_complaint(built, name):
    shown = subprocess.run(
        ["man", "--warnings", "--local-file", built / "man" / name],
        env=os.environ | {"LC_ALL": "C.UTF-8", "MANWIDTH": "80"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stderr == ""
    assert "NAME\n" in shown.stdout


def test_the_man_page_has_what_a_man_page_has(built):
    text = (built / "man" / "reactor.1").read_text()
    sections = re.findall(r"^\.SH (.*)$", text, re.MULTILINE)
    assert [each.lower() for each in sections] == [
        "name", "synopsis", "description", "commands", "exit codes", "signals", "environment", "files", "see also",
    ]  # fmt: skip
