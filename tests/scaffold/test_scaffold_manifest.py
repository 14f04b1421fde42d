"""What the manifest gives to templates: its data, facts, environment and functions, and what a change of these does."""

import pytest
from scaffold_worlds import converge, grow, look, tree

from reactor.engine.events import Checked
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.declared import desires_the_same
from reactor.resource.plan import ResourceError
from reactor.testing.story import running

DATA = "data: {port: 80, password: hunter2hunter}\n"
SECRET = "data:\n  port: 80\n  # @secret\n  password: hunter2hunter\n"


@pytest.fixture
def site(tmp_path):
    """The graph of a manifest in ``tmp_path`` with one scaffold, of the ``templates`` beside it."""

    def site(properties="", data=DATA, facts=None, environ=None, **templates):
        grow(tmp_path / "templates", templates)
        text = f"resources: [{{scaffold: [{{{tmp_path}/out: {{ensure: present, source: templates{properties}}}}}]}}]"
        (tmp_path / "site.yaml").write_text(f"{data}{text}\n")
        return load(str(tmp_path / "site.yaml"), Inputs(facts or {}, environ or {})).graph

    return site


@pytest.fixture
def scaffold(site):
    """The scaffold of such a manifest."""

    def scaffold(*given, **named):
        (resource,) = site(*given, **named).resources.values()
        return resource

    return scaffold


@pytest.mark.parametrize(("form", "expected"), [("resources", "{{ 80 }}"), ("ccm", "80")])
async def test_templates_are_in_jet_in_the_ccm_form_unless_said(tmp_path, form, expected):
    grow(tmp_path / "templates", {"a": "{{ '{{ 80 }}' }}" if form == "resources" else "[[ data.port ]]"})
    one = f"[{{scaffold: [{{{tmp_path}/out: {{ensure: present, source: templates}}}}]}}]"
    text = f"resources: {one}" if form == "resources" else f"ccm: {{resources: {one}}}"
    (tmp_path / "site.yaml").write_text(f"{DATA}{text}\n")
    (scaffold,) = load(str(tmp_path / "site.yaml")).graph.resources.values()
    await converge(scaffold)
    assert tree(tmp_path / "out") == {"a": expected}


@pytest.mark.parametrize(
    ("engine", "template"),
    [
        ("jinja", "{{ Data.port }}{{ data.port }} {{ Facts.role }}{{ facts.role }} {{ environ.HOME }}"),
        ("go", "{{ .Data.port }}{{ .data.port }} {{ .Facts.role }}{{ .facts.role }} {{ .environ.HOME }}"),
        ("jet", "[[ Data.port ]][[ data.port ]] [[ Facts.role ]][[ facts.role ]] [[ environ.HOME ]]"),
    ],
)
async def test_templates_see_data_facts_and_the_environment(scaffold, tmp_path, engine, template):
    facts, environ = {"role": "web"}, {"HOME": "/root"}
    await converge(scaffold(f", engine: {engine}", facts=facts, environ=environ, a=template))
    assert tree(tmp_path / "out") == {"a": "8080 webweb /root"}


@pytest.mark.parametrize(
    ("engine", "template"),
    [
        ("jinja", "{{ lookup('data.port') }} {{ lookup('data.nope', 7) }} {{ readFile('beside') }}"),
        ("go", '{{ lookup "data.port" }} {{ lookup "data.nope" 7 }} {{ readFile "beside" }}'),
        ("jet", '[[ lookup("data.port") ]] [[ lookup("data.nope", 7) ]] [[ readFile("beside") ]]'),
    ],
)
async def test_templates_have_the_functions_of_expressions(scaffold, tmp_path, engine, template):
    (tmp_path / "beside").write_text("text")
    await converge(scaffold(f", engine: {engine}", a=template))
    assert tree(tmp_path / "out") == {"a": "80 7 text"}


async def test_data_of_the_scaffold_stand_in_place_of_those_of_the_manifest(scaffold, tmp_path):
    resource = scaffold(", data: {port: '{{ Data.port + 1 }}'}", a="{{ Data }} {{ data.port }}")
    await converge(resource)
    assert tree(tmp_path / "out") == {"a": "{'port': 81} 81"}


async def test_a_function_that_fails_names_the_template(scaffold, tmp_path):
    with pytest.raises(ResourceError, match=r'templates/a:2:1: .*failed to read file "nope"'):
        await look(scaffold(a="\n{{ readFile('nope') }}"))


async def test_an_error_keeps_its_words_back_when_there_are_secrets(scaffold, tmp_path):
    template = "\n{{ Data.password + 1 }}{{ Data[Data.password] }}"
    bad = "\n{{ Data[Data.password] }}"
    with pytest.raises(ResourceError, match="hunter2hunter"):
        await look(scaffold(a=bad))
    for text in (bad, template):
        with pytest.raises(ResourceError) as caught:
            await look(scaffold(data=SECRET, a=text))
        assert caught.value.message.startswith(f"{tmp_path}/templates/a:2:1: the template failed")
        assert "hunter2" not in f"{caught.value.message}{caught.value.hint}"


async def test_a_diff_shows_the_files_that_no_secret_is_in(scaffold, tmp_path):
    (action,) = await look(
        scaffold(
            data=SECRET,
            a="{{ Data.password | upper }}",
            b="port {{ Data.port }}",
            c="{% if Data.password %}x{% endif %}",
        )
    )
    shown = await (await action.diff())()
    reason = "Content is not shown: the data hold secrets\n"
    assert f"+++ {tmp_path}/out/a\n{reason}" in shown
    assert "HUNTER2" not in shown
    assert f"+++ {tmp_path}/out/b\n@@ -0,0 +1 @@\n+port 80\n" in shown
    assert "+x\n" in shown


async def test_a_diff_with_secrets_at_hand_shows_nothing_of_what_was_there(scaffold, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "changed").write_text("old\n")
    (out / "purged").write_text("old\n")
    (action,) = await look(
        scaffold(", purge: true", data=SECRET, changed="new\n", made="{{ Data.password }}")
    )
    reason = "Content is not shown: the data hold secrets\n"
    shown = await (await action.diff())()
    assert shown.startswith(f"--- {out}/changed\n+++ {out}/changed\n@@ -1 +1 @@\n")
    assert "+new\n" in shown
    assert "-old" not in shown
    assert shown.endswith(f"--- /dev/null\n+++ {out}/made\n{reason}--- {out}/purged\n+++ /dev/null\n{reason}")


async def test_a_diff_shows_no_file_of_a_scaffold_with_secret_data_of_its_own(scaffold, tmp_path):
    data = SECRET.replace("data:", "data:\n  own: {a: 1}")
    (action,) = await look(scaffold(", data: {word: '{{ Data.password }}'}", data=data, a="harmless"))
    assert "harmless" not in await (await action.diff())()


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ({}, {}, True),
        ({}, {"data": DATA.replace("80", "81")}, False),
        ({"facts": {"role": "web", "other": 1}}, {"facts": {"role": "web", "other": 2}}, True),
        ({"facts": {"role": "web"}}, {"facts": {"role": "db"}}, False),
        ({}, {"environ": {"HOME": "/"}}, False),
    ],
    ids=["nothing", "data", "an unread fact", "a fact", "environment"],
)
async def test_what_templates_have_read_is_part_of_what_is_asked_for(scaffold, before, after, same):
    template = "{{ Data.port }}{{ Facts.role | default('') }}"
    old = scaffold(a=template, **before)
    await converge(old)
    assert desires_the_same(old, scaffold(a=template, **{**before, **after})) is same


async def test_a_file_that_a_template_has_read_is_looked_at_when_all_is(scaffold, tmp_path):
    (tmp_path / "beside").write_text("old")
    resource = scaffold(a="{{ readFile('beside') }}", b="b")
    await converge(resource)
    (tmp_path / "beside").write_text("new")
    assert await converge(resource) == ["changed 1 scaffold files"]
    assert tree(tmp_path / "out") == {"a": "new", "b": "b"}


async def test_an_edit_of_the_data_reaches_the_files_and_one_of_nothing_checks_nothing(site, tmp_path):
    async with running(graph=site(a="{{ Data.port }}")) as story:
        await story.until(lambda: tree(tmp_path / "out") == {"a": "80"})
        await story.rest()
        before = len(story.all(Checked))
        story.engine.reload(site(), story.engine.options)
        await story.rest()
        assert len(story.all(Checked)) == before
        story.engine.reload(site(data=DATA.replace("80", "81")), story.engine.options)
        await story.until(lambda: tree(tmp_path / "out") == {"a": "81"})
        grow(tmp_path / "out", {"a": "damaged"})  # the new one is watched like the old one
        await story.until(lambda: tree(tmp_path / "out") == {"a": "81"})
