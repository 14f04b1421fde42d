"""Files that a template renders: when they are rendered again, what an error says, and what a diff does not show."""

import os
from pathlib import Path

import pytest

from reactor import ManifestError
from reactor.engine.events import Cause, Checked, Output, Result
from reactor.engine.options import RunOptions
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.secrets.reader import RunSecrets
from reactor.testing.story import converge_once, running

INPUTS = Inputs(facts={"host": {"info": {"os": "linux"}}}, environ={"HOME": "/root"})
OWN = "owner: '0', group: '0', mode: '0644'"


@pytest.fixture
def site(tmp_path):
    """The graph of one file with a template ``x``, and with these data."""

    def site(source=None, more="", data="{port: 8080}", **inputs):
        if source is not None:
            (tmp_path / "x").write_text(source)
        (tmp_path / "site.yaml").write_text(
            f"data: {data}\nresources:\n"
            f"  - file: [{{{tmp_path}/out: {{ensure: present, template: x, {OWN}{more}}}}}]\n"
        )
        return load(str(tmp_path / "site.yaml"), INPUTS._replace(**inputs)).graph

    return site


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def checks(story, out, cause) -> list[Checked]:
    return [
        each for each in story.checks(f"file#{out}") if cause in each.causes and each.result is Result.CHANGED
    ]


@pytest.mark.parametrize(
    ("more", "source"),
    [
        ("", "{{ data.port }} {{ Facts.host.info.os }} {{ Environ.HOME }}\n"),
        (", engine: jinja", "{{ Data.port }} {{ facts.host.info.os }} {{ environ.HOME }}\n"),
        (", engine: go", "{{ .data.port }} {{ .Facts.host.info.os }} {{ .Environ.HOME }}\n"),
        (", engine: jet", "[[ data.port ]] [[ Facts.host.info.os ]] [[ Environ.HOME ]]\n"),
    ],
)
async def test_the_engines_see_data_facts_and_environment_as_in_a_scaffold(site, out, more, source):
    for changes in (1, 0):
        ended, _ = await converge_once(graph=site(source, more))
        assert ended.changes == changes
        assert out.read_text() == "8080 linux /root\n"


async def test_the_form_of_ccm_has_jet_by_default(tmp_path, out):
    (tmp_path / "x").write_text("[[ data.port ]]")
    (tmp_path / "site.yaml").write_text(
        f"data: {{port: 1}}\nccm: {{resources: [{{file: [{{{out}: {{ensure: present, template: x, {OWN}}}}}]}}]}}\n"
    )
    await converge_once(graph=load(str(tmp_path / "site.yaml")).graph)
    assert out.read_text() == "1"


async def test_in_the_form_of_ccm_a_missing_value_is_nothing_and_is_reported(tmp_path, out):
    (tmp_path / "x").write_text("port [[ data.prot ]]")
    (tmp_path / "site.yaml").write_text(
        f"data: {{port: 1}}\nccm: {{resources: [{{file: [{{{out}: {{ensure: present, template: x, {OWN}}}}}]}}]}}\n"
    )
    _, story = await converge_once(graph=load(str(tmp_path / "site.yaml")).graph)
    assert out.read_text() == "port "
    [line] = {each.line for each in story.all(Output)}
    assert "x:1:" in line
    assert "there is no key 'prot'" in line


async def test_data_of_its_own_take_the_place_of_those_of_the_manifest(site, out):
    await converge_once(graph=site("{{ data.port }}", ", data: {port: 1}"))
    assert out.read_text() == "1"


async def test_drift_is_repaired_and_an_edit_of_the_template_is_no_drift(site, out, tmp_path):
    async with running(graph=site("{{ data.port }}")) as story:
        await story.converged()
        out.write_text("vandal")
        await story.until(lambda: checks(story, out, Cause.DRIFT) and out.read_text() == "8080")
        (tmp_path / "x").write_text("port {{ data.port }}")
        await story.until(lambda: out.read_text() == "port 8080")
        await story.rest()


@pytest.mark.parametrize("name", ["_parts/p", "read"])
async def test_what_the_template_includes_or_reads_is_watched_once_it_is_known(site, out, tmp_path, name):
    (tmp_path / "_parts").mkdir()
    (tmp_path / name).write_text("one")
    source = '{% include "_parts/p" %}' if name.startswith("_") else '{{ file("read") }}'
    async with running(graph=site(source)) as story:
        await story.until(lambda: len(story.checks(f"file#{out}")) >= 2)
        await story.rest()
        (tmp_path / name).write_text("two")
        await story.until(lambda: out.exists() and out.read_text() == "two")


async def test_an_included_template_that_comes_later_is_noticed(site, out, tmp_path):
    async with running(graph=site('{% include "p" ignore missing %}.')) as story:
        await story.until(lambda: len(story.checks(f"file#{out}")) >= 2)
        await story.rest()
        assert out.read_text() == "."
        (tmp_path / "p").write_text("here")
        await story.until(lambda: out.read_text() == "here.")


async def test_other_data_render_it_again_and_the_same_do_not(site, out):
    async with running(graph=site("{{ data.port }}")) as story:
        await story.converged()
        before = len(story.checks(f"file#{out}"))
        story.engine.reload(site())
        await story.rest()
        assert len(story.checks(f"file#{out}")) == before
        story.engine.reload(site(data="{port: 9090}"))
        await story.until(lambda: out.read_text() == "9090")


async def test_a_template_does_not_include_what_is_outside_of_its_directory(site, out, tmp_path):
    (tmp_path.parent / "secret").write_text("x")
    for name in ("../secret", "/etc/passwd"):
        ended, _ = await converge_once(graph=site(f'{{% include "{name}" %}}'))
        assert ended.counts[Result.FAILED] == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("source", "place", "words"),
    [
        ("one\n{{ data.prot }}", "x:2:1", "did you mean port?"),
        ("one\ntwo {{ }}", "x:2:", ""),
        ("{{ 1 // 0 }}", "x:1:1", ""),
        ("{{ write('a', 'b') }}", "", "make it a scaffold"),
    ],
)
async def test_an_error_says_where_in_the_template_and_changes_nothing(site, out, source, place, words):
    out.write_text("before")
    for is_noop in (True, False):
        _, story = await converge_once(graph=site(source), options=RunOptions(noop=is_noop))
        [check] = story.checks(f"file#{out}")
        assert check.result is Result.FAILED
        assert place in (check.error or "")
        assert words in (check.hint or "")
        assert out.read_text() == "before"


async def test_a_missing_template_fails_before_and_may_still_be_brought(site, out, tmp_path):
    graph = site()
    _, story = await converge_once(graph=graph, options=RunOptions(noop=True))
    assert "does not exist" in (story.checks(f"file#{out}")[0].error or "")
    (tmp_path / "site.yaml").write_text(
        f"resources:\n  - file: [{{{out}: {{ensure: present, template: x, {OWN}}}}}]\n"
        f"  - file: [{{{tmp_path}/x: {{ensure: present, content: brought, {OWN}}}}}]\n"
    )
    await converge_once(graph=load(str(tmp_path / "site.yaml")).graph)
    assert out.read_text() == "brought"


@pytest.mark.parametrize("kind", ["file", "scaffold"])
@pytest.mark.parametrize(
    ("first", "source", "wanted"),
    [
        ("{below}: {{ensure: directory", "{{% if %}}", [Result.WOULD_CHANGE, Result.FAILED]),
        ("{below}: {{ensure: directory", "{{{{ nosuch }}}}", [Result.WOULD_CHANGE, Result.FAILED]),
        ("{below}: {{ensure: directory", "{{{{ data.nosuch }}}}", [Result.WOULD_CHANGE, Result.FAILED]),
        ("{below}: {{ensure: directory", "{{{{ readFile('/nosuch') }}}}", [Result.WOULD_CHANGE] * 2),
        ("{template}: {{ensure: present, content: right", "{{% if %}}", [Result.WOULD_CHANGE] * 2),
    ],
)
async def test_a_dry_run_fails_for_a_wrong_template_unless_something_would_write_it(
    tmp_path, kind, first, source, wanted
):
    (tmp_path / "t").mkdir()
    template, below = tmp_path / "t/x", tmp_path / "below"
    template.write_text(source.format())
    path, from_ = (below / "out", "template: t/x") if kind == "file" else (below / "tree", "source: t")
    how = (
        f"{{ensure: present, {from_}, {OWN}}}"
        if kind == "file"
        else f"{{ensure: present, {from_}, engine: jinja}}"
    )
    one = f"file#{template}" if "template" in first else f"file#{below}"
    (tmp_path / "site.yaml").write_text(
        "resources:\n"
        f"  - file: [{{{first.format(below=below, template=template)}, {OWN}}}}}]\n"
        f"  - {kind}: [{{{path}: {how[:-1]}, require: ['{one}']}}}}]\n"
    )
    _, story = await converge_once(
        graph=load(str(tmp_path / "site.yaml"), INPUTS).graph, options=RunOptions(noop=True)
    )
    assert [story.checks(ref)[-1].result for ref in (one, f"{kind}#{path}")] == wanted
    assert not below.exists()


def _empty_of_a_terabyte(path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (os.mkfifo, "the template {} is not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "the template {} is not a regular file"),
        (_empty_of_a_terabyte, "{} is larger than 64 MiB, too large for a template"),
    ],
)
async def test_what_is_no_template_takes_neither_all_memory_nor_forever(site, out, tmp_path, make, error):
    make(tmp_path / "x")
    _, story = await converge_once(graph=site())
    assert story.checks(f"file#{out}")[0].error == error.format(tmp_path / "x")


async def test_binary_templates_are_refused(site, out, tmp_path):
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    _, story = await converge_once(graph=site())
    assert "is not UTF-8 text at byte 0" in (story.checks(f"file#{out}")[0].error or "")


async def test_a_template_that_another_user_can_change_is_refused(site, out, tmp_path):
    graph = site("{{ data.port }}")
    os.chown(tmp_path / "x", 1234, 1234)
    _, story = await converge_once(graph=graph)
    assert "can't be trusted" in (story.checks(f"file#{out}")[0].error or "")
    assert not out.exists()


SECRET = "\n  # @secret\n  password: hunter2222"


@pytest.mark.parametrize("found", [None, "old hunter2222"])
async def test_no_diff_and_no_error_shows_what_secret_data_render(site, out, found):
    if found is not None:
        out.write_text(found)
    _, story = await converge_once(
        graph=site("pw={{ data.password | upper }}\n", data=SECRET), options=RunOptions(diff=True)
    )
    assert out.read_text() == "pw=HUNTER2222\n"
    [check] = story.checks(f"file#{out}")
    assert "Content is not shown: the data hold secrets" in check.diffs[0]
    assert "hunter2222" not in repr(story.events).lower()
    _, story = await converge_once(graph=site("{{ data.password + 1 }}", data=SECRET))
    assert "hunter2222" not in repr(story.events)
    assert "x:1:" in (story.checks(f"file#{out}")[0].error or "")


PUBLIC = "{% if data.password %}port {{ data.port }}\n{% endif %}{{ data.password | length > 3 }}\n"


@pytest.mark.parametrize(
    ("more", "source"),
    [
        ("", PUBLIC),
        (", engine: go", "port {{ .data.port }}\n{{ if .data.password }}True{{ end }}\n"),
        (", data: {port: 8080}", "port {{ data.port }}\n{{ lookup('data.password') is defined }}\n"),
    ],
)
async def test_a_diff_shows_what_does_not_depend_on_a_secret_and_nothing_that_it_replaces(
    site, out, more, source
):
    out.write_text("port 8080\nformer secret\n")
    graph = site(source, more, data=f"{SECRET}\n  port: 8080")
    _, story = await converge_once(graph=graph, options=RunOptions(diff=True))
    [check] = story.checks(f"file#{out}")
    shown = " port 8080\n-[not shown: it may hold a former secret]\n+True\n"
    assert check.diffs[0].endswith(f"@@ -1,2 +1,2 @@\n{shown}")


async def test_a_new_file_is_shown_if_it_does_not_depend_on_a_secret(site, out):
    graph = site("port {{ data.port }}\n", data=f"{SECRET}\n  port: 8080")
    _, story = await converge_once(graph=graph, options=RunOptions(diff=True, noop=True))
    assert story.checks(f"file#{out}")[0].diffs[0].endswith("@@ -0,0 +1 @@\n+port 8080\n")


@pytest.mark.parametrize(
    ("more", "source"),
    [
        ("", "{{ data.password[:2] }}"),
        ("", "{{ data.password | length }}"),
        ("", "{{ data.words[2] }}"),
        ("", "{{ data.words[1][:2] }}"),
        ("", "{% if data.flag %}on{% endif %}"),
        ("", "{{ data.port + 1 }}"),
        ("", "{{ Secrets.token | length }}"),
        ("", "{{ lookup('data.password') }}"),
        ("", "{% for each in data.values() %}{{ each }}{% endfor %}"),
        ("", "{% if data.password == 'hunter2222' %}it is{% endif %} hunter"),
        (", data: {port: 1}", "{{ lookup('data.password') | upper }}"),
        (", data: {pw: '{{ Data.password }}'}", "nothing of it"),
        (", engine: go", "{{ .data.password | sha256sum | trunc 8 }}"),
        (", engine: jet", "[[ data.password ]]"),
        ("", "{{ template('x.jet') }}"),
    ],
)
async def test_a_diff_does_not_show_what_depends_on_a_secret(site, out, tmp_path, more, source):
    (tmp_path / "x.jet").write_text("[[ data.password ]]")
    (tmp_path / "token").write_text("token-of-all")
    data = (
        f"{SECRET}\n  # @secret\n  words: [a, '##ä', 'ö']\n  # @secret\n  flag: true\n  # @secret\n  port: 7"
        "\nsecrets: {token: {file: token}}"
    )
    graph = site(source, more, data, secret_reader=RunSecrets())
    _, story = await converge_once(graph=graph, options=RunOptions(diff=True))
    [check] = story.checks(f"file#{out}")
    assert check.result is Result.CHANGED, check
    assert "not shown: " in check.diffs[0]
    assert "@@" not in check.diffs[0]


async def test_a_validator_sees_what_was_rendered(site, out):
    await converge_once(graph=site("{{ data.port }}", ", validate: 'grep 8080 {path}'"))
    assert out.read_text() == "8080"
    ended, _ = await converge_once(graph=site("other", ", validate: 'grep 8080 {path}'"))
    assert ended.counts[Result.FAILED] == 1
    assert out.read_text() == "8080"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (", content: x", "'content' and 'template' are mutually exclusive"),
        (", source: /x", "'source' and 'template' are mutually exclusive"),
        (", engine: mako", "engine"),
        (", checksum: " + "0" * 64, "checksum is only valid"),
    ],
)
def test_contradictions_are_found_when_the_manifest_is_loaded(site, more, words):
    with pytest.raises(ManifestError) as refused:
        site("x", more)
    assert any(words in each.message for each in refused.value.diagnostics)


@pytest.mark.parametrize("name", ["engine: go", "data: {a: 1}"])
def test_what_is_of_templates_needs_one(tmp_path: Path, name):
    (tmp_path / "site.yaml").write_text(
        f"resources:\n  - file: [{{/x: {{ensure: present, {name}, {OWN}}}}}]\n"
    )
    with pytest.raises(ManifestError) as refused:
        load(str(tmp_path / "site.yaml"))
    assert "is only valid with template" in refused.value.diagnostics[0].message
