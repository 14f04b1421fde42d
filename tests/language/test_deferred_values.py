"""Values that are only known when a resource is checked: files that others make, and outputs of others."""

import pytest
import trio

from reactor import Cause, ManifestError, Result
from reactor.engine.events import Checked
from reactor.engine.options import RunOptions
from reactor.testing.story import converge_once, running

READER = """
resources:
  - file:
      - {dir}/out: {{own}, content: "got ${ file('in.txt') }"}
"""


def contents(path):
    return path.read_text() if path.exists() else None


def intended(story, ref, before=0):
    """The checks of ``ref``, except the first ``before``, and except those that a late report of our own write caused."""
    return [check for check in story.checks(ref)[before:] if check.causes is not Cause.DRIFT]


async def test_a_file_that_another_resource_makes_is_read_when_it_is_there(site, tmp_path):
    graph = site("""
resources:
  - exec:
      - writer: {command: "/bin/sh -c 'echo -n hello > {dir}/in.txt'"}
  - file:
      - {dir}/out: {{own}, content: "got ${ file('in.txt') }", require: exec#writer}
""").graph
    ended, _ = await converge_once(graph=graph)
    assert ended.counts["changed"] == 2
    assert contents(tmp_path / "out") == "got hello"


async def test_a_file_that_no_one_makes_fails_its_reader_alone_and_says_where(site, tmp_path):
    ended, story = await converge_once(graph=site(READER).graph)
    [check] = story.checks(f"file#{tmp_path}/out")
    assert check.result is Result.FAILED
    assert check.error.startswith(f"{tmp_path}/site.yaml:4:")
    assert 'failed to read file "in.txt"' in check.error
    assert ended.counts["failed"] == 1
    assert not (tmp_path / "out").exists()


async def test_a_file_that_an_expression_reads_is_watched(site, tmp_path):
    (tmp_path / "in.txt").write_text("one")
    async with running(graph=site(READER).graph) as story:
        await story.converged()
        (tmp_path / "in.txt").write_text("two")
        await story.until(lambda: contents(tmp_path / "out") == "got two")
        await story.rest()
        assert {c.causes for c in story.checks(f"file#{tmp_path}/out")[1:]} == {Cause.DRIFT}


async def test_a_file_that_appears_under_a_running_converger_is_read(site, tmp_path):
    async with running(graph=site(READER).graph) as story:
        await story.until(lambda: story.checks(f"file#{tmp_path}/out"))
        assert story.result(f"file#{tmp_path}/out") is Result.FAILED
        (tmp_path / "in.txt").write_text("late")
        await story.until(lambda: contents(tmp_path / "out") == "got late")


OUTPUT = """
resources:
  - exec:
      - version: {command: "/bin/cat {dir}/version", creates: "{dir}/never", subscribe: "file#{dir}/version"}
  - file:
      - {dir}/version: {{own}, source: "{dir}/wanted"}
      - {dir}/out: {{own}, content: "${ output('exec#version').stdout }"}
      - {dir}/other: {{own}, content: "fixed"}
"""


async def test_a_value_goes_from_one_resource_to_another_and_again_when_it_changes(site, tmp_path):
    (tmp_path / "wanted").write_text("1.0\n")
    async with running(graph=site(OUTPUT).graph) as story:
        await story.until(lambda: contents(tmp_path / "out") == "1.0")
        await story.rest()
        before = len(story.checks(f"file#{tmp_path}/other"))
        (tmp_path / "wanted").write_text("2.0\n")
        await story.until(lambda: contents(tmp_path / "out") == "2.0")
        await story.rest()
        causes = [check.causes for check in story.checks(f"file#{tmp_path}/out")]
        assert any(Cause.INTENT in each for each in causes)
        assert intended(story, f"file#{tmp_path}/other", before) == []


async def test_an_unchanged_value_checks_no_one(site, tmp_path):
    (tmp_path / "wanted").write_text("1.0\n")
    async with running(graph=site(OUTPUT).graph) as story:
        await story.until(lambda: contents(tmp_path / "out") == "1.0")
        await story.rest()
        before = len(story.checks(f"file#{tmp_path}/out"))
        runs = len(story.checks("exec#version"))
        story.engine.dispatcher.mark(story.engine.vertex_table.number("exec#version"), Cause.REFRESH)
        await story.until(lambda: len(story.checks("exec#version")) > runs)
        await story.rest()
        assert intended(story, f"file#{tmp_path}/out", before) == []


async def test_a_user_who_takes_a_value_waits_for_who_gives_it(site):
    program = site("""
resources:
  - file:
      - {dir}/out: {{own}, content: "${ output('exec#v').exit_code }"}
  - exec:
      - v: {command: /bin/true}
""")
    [edge] = [edge for edge in program.graph.edges if edge.first == "exec#v"]
    assert (str(edge.kind), edge.reason) == ("require", f"output of exec#v in {edge.second}")
    _, story = await converge_once(graph=program.graph)
    assert [check.ref for check in story.events if hasattr(check, "actions")] == ["exec#v", edge.second]


async def test_no_output_yet_is_nil(site, tmp_path):
    graph = site("""
resources:
  - exec:
      - v: {command: /bin/echo x, refreshonly: true}
  - file:
      - {dir}/out: {{own}, content: "${ output('exec#v')?.stdout ?? 'none' }"}
""").graph
    await converge_once(graph=graph)
    assert contents(tmp_path / "out") == "none"


async def test_a_file_gives_its_checksum(site, tmp_path):
    graph = site("""
resources:
  - file:
      - {dir}/a: {{own}, content: "abc"}
      - {dir}/b: {{own}, content: "${ output('file#{dir}/a').checksum }"}
""").graph
    await converge_once(graph=graph)
    assert contents(tmp_path / "b") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


async def test_a_value_is_given_under_the_alias_too(site, tmp_path):
    graph = site("""
resources:
  - file:
      - {dir}/a: {{own}, content: "abc", alias: letters}
      - {dir}/b: {{own}, content: "${ output('file#letters').checksum }"}
      - {dir}/c: {{own}, content: "${ output('file#{dir}/a').checksum }"}
""").graph
    await converge_once(graph=graph)
    assert contents(tmp_path / "b") == contents(tmp_path / "c") != ""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${ output('exec#nope').stdout }", "there is no exec#nope in the manifest"),
        ("${ output('file#{dir}/out') }", "takes its own output"),
        ("${ nope }", "unknown name nope"),
        ("${ 1 + }", "unexpected"),
    ],
)
def test_what_can_never_have_a_value_is_reported_before_anything_is_touched(site, value, message):
    with pytest.raises(ManifestError) as caught:
        site("resources: [{file: [{'{dir}/out': {{own}, content: \"VALUE\"}}]}]".replace("VALUE", value))
    [problem] = caught.value.diagnostics
    assert message in problem.message
    assert problem.place.column >= len("resources: [{file: [{'/out': {content: ")


@pytest.mark.parametrize(
    ("value", "column"),
    [
        (r'"n \n\n ${ n }"', 12),
        (r'"\"a\" ${ \"a\" + \"b\" + b }"', 27),
        ("'it''s ${ s }'", 11),
        ("'${ 1 } ${ 1 + x } x'", 16),
        ("'${ x } x'", 5),
        ("&x '${ x }'", 8),
    ],
)
def test_the_culprit_is_found_among_letters_that_look_like_it(site, value, column):
    text = "resources:\n  - exec:\n      - a:\n          command: "
    with pytest.raises(ManifestError) as caught:
        site(f"{text}{value}\n")
    [found] = caught.value.diagnostics
    assert "unknown name" in found.message
    assert found.place.column == len("          command: ") + column


def test_every_property_that_can_never_have_a_value_is_reported(site):
    with pytest.raises(ManifestError) as caught:
        site(
            "resources: [{exec: [{a: {command: '{{ nope }}', cwd: '{{ Data.x.y }}', creates: '{{ never }}'}}]}]"
        )
    messages = [found.message for found in caught.value.diagnostics]
    assert messages == ["unknown name nope", "Data has no key 'x'", "unknown name never"]


def test_the_place_of_a_wrong_output_is_the_value_that_takes_it(site):
    with pytest.raises(ManifestError) as caught:
        site("""
resources:
  - exec:
      - a:
          command: /bin/true
          environment: ["A=1", "B=${ output('exec#b') }"]
          control:
            if: output('exec#a').stdout == '1'
            unless: output('exec#c').stdout == '1'
""")
    assert [(each.place.line, each.place.column) for each in caught.value.diagnostics] == [
        (6, 32), (8, 17), (9, 21),
    ]  # fmt: skip


def test_an_output_in_a_property_that_is_read_at_load_is_refused(site):
    with pytest.raises(ManifestError) as caught:
        site('resources: [{file: [{"{dir}/out": {{own}, alias: "${ output(`exec#v`).stdout }"}}]}]')
    assert "only known when resources are checked" in caught.value.diagnostics[0].message


async def test_a_late_value_that_the_property_can_not_take_fails_the_resource_and_says_where(site, tmp_path):
    graph = site("""
resources:
  - exec:
      - path: {command: /bin/echo relative}
      - a: {command: /bin/true, creates: "${ output('exec#path').stdout }"}
""").graph
    ended, story = await converge_once(graph=graph)
    assert ended.counts["failed"] == 1
    [check] = story.checks("exec#a")
    assert check.error == f"{tmp_path}/site.yaml:5:42: creates: the path must be absolute: start it with /"
    assert check.hint == "the value comes from an expression"


async def test_everything_wrong_with_late_values_is_reported_in_the_words_of_any_manifest(site, tmp_path):
    graph = site("""
resources:
  - exec:
      - v: {command: /bin/echo relative}
  - exec:
      - defaults: {cwd: "${ output('exec#v').stdout }"}
      - a:
          command: /bin/true
          environment: {A: "${ output('exec#v').stdout }"}
""").graph
    _, story = await converge_once(graph=graph)
    [check] = story.checks("exec#a")
    assert check.error.splitlines() == [
        f"{tmp_path}/site.yaml:6:25: cwd: the path must be absolute: start it with /",
        f"{tmp_path}/site.yaml:9:24: environment must be a list, not a map",
    ]


async def test_a_reload_with_other_data_reaches_values_that_wait(site, tmp_path):
    text = READER.replace("got", "${ Data.word }")
    (tmp_path / "in.txt").write_text("x")
    graph = site("data: {word: old}" + text).graph
    async with running(graph=graph) as story:
        await story.converged()
        reloaded = story.engine.reload(site("data: {word: new}" + text).graph)
        assert reloaded.changed == (f"file#{tmp_path}/out",)
        await story.until(lambda: contents(tmp_path / "out") == "new x")
        again = story.engine.reload(site("data: {word: new, other: 1}" + text).graph)
        assert (again.changed, again.kept) == ((), 1)
        (tmp_path / "in.txt").write_text("y")
        await story.until(lambda: contents(tmp_path / "out") == "new y")
        await trio.lowlevel.checkpoint()


async def test_a_change_of_one_data_value_checks_exactly_those_whose_properties_changed(site, tmp_path):
    text = """
resources:
  - file:
      - {dir}/eager: {{own}, content: x, alias: "${ Data.a }"}
      - {dir}/late: {{own}, content: "a is ${ Data.a }"}
      - {dir}/same: {{own}, content: "${ Data.a > 0 ? 'positive' : 'negative' }"}
      - {dir}/other: {{own}, content: "b is ${ Data.b }"}
"""
    async with running(graph=site("data: {a: 1, b: 1}" + text).graph) as story:
        await story.converged()
        before = len(story.events)
        story.engine.reload(site("data: {a: 2, b: 1}" + text).graph)
        await story.until(lambda: contents(tmp_path / "late") == "a is 2")
        await story.rest()
        checks = [event for event in story.events[before:] if isinstance(event, Checked)]
        checked = {check.ref for check in checks if check.causes is not Cause.DRIFT}
        assert checked == {f"file#{tmp_path}/eager", f"file#{tmp_path}/late"}


async def test_an_output_that_can_not_be_reported_fails_its_giver_alone(site, tmp_path, monkeypatch):
    def unreadable(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("reactor.hostfs.checksum_of", unreadable)
    graph = site("""
resources:
  - file:
      - {dir}/a: {{own}, content: "abc"}
      - {dir}/b: {{own}, content: "${ output('file#{dir}/a').checksum }"}
      - {dir}/c: {{own}, content: "c"}
""").graph
    ended, story = await converge_once(graph=graph)
    assert story.checks(f"file#{tmp_path}/a")[0].error.startswith("its outputs can't be read: ")
    assert (ended.counts["failed"], ended.counts["blocked"], ended.counts["changed"]) == (1, 1, 1)


async def test_any_kind_gives_what_it_knows(site, tmp_path):
    graph = site("""
resources:
  - group: [{root: {ensure: present}}]
  - file:
      - {dir}/out: {{own}, content: "${ output('group#root').gid }"}
""").graph
    await converge_once(graph=graph)
    assert contents(tmp_path / "out") == "0"


def test_a_file_whose_name_is_not_that_of_a_template_is_not_taken_for_a_text(site):
    manifest = "resources:\n- file: [{/tmp/x: {{own}, content: \"{{ template('x.conf.j2') }}\"}}]\n"
    with pytest.raises(ManifestError) as caught:
        site(manifest, **{"x.conf.j2": "port = {{ Data.port }}\n"})
    [found] = caught.value.diagnostics
    assert found.message == 'template("x.conf.j2") renders this string, not the file with that name'
    assert ".templ" in (found.hint or "")


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("one\ntwo {{ Data.nope.x }}\n", "t.templ:2:13: Data has no key 'nope'"),
        ("one\ntwo {{ 1 + }}\n", "t.templ:2:11: unexpected end of the expression"),
    ],
)
def test_an_error_in_a_template_is_reported_with_its_place_there_and_where_it_is_used(site, body, where):
    manifest = (
        "data: {a: 1}\nresources:\n- file: [{/tmp/x: {{own}, content: \"{{ template('t.templ') }}\"}}]\n"
    )
    with pytest.raises(ManifestError) as caught:
        site(manifest, **{"t.templ": body})
    [found] = caught.value.diagnostics
    assert found.message == where
    line = site.filled(manifest).splitlines()[2]
    assert (found.place.line, found.place.column) == (3, line.index("template(") + 1)


def test_a_command_runs_once_though_its_value_is_read_from_a_file_that_was_written_just_before(
    tmp_path, reactor
):
    site = tmp_path / "site.yaml"
    ran = tmp_path / "ran"
    site.write_text(f"""
settings: {{ordering: manifest}}
resources:
  - exec:
      - writes: {{provider: shell, command: "echo /tmp > {tmp_path}/where"}}
      - reads:
          command: sh -c 'pwd >> {ran}'
          cwd: "${{ trim(file('where')) }}"
          onlyif: "true"
      - changes: {{command: touch {tmp_path}/other}}
""")
    (tmp_path / "where").write_text("/usr\n")
    done = reactor("run", "--converge-once", site)
    assert (done.code, ran.read_text()) == (0, "/tmp\n"), done.out


USED = """
resources:
  - exec:
      - v: {command: "/bin/cat {dir}/v"}
  - file:
      - {dir}/condition: {{own}, content: x, control: {if: "output('exec#v')?.stdout == 'yes'"}}
      - {dir}/same: {{own}, content: "none", control: {if: "output('exec#v')?.stdout != 'gone'"}}
      - {dir}/value: {{own}, content: "${ output('exec#v')?.stdout ?? 'none' }"}
"""


async def test_a_dry_run_can_not_tell_what_uses_an_output_that_is_not_known_yet(site, tmp_path):
    (tmp_path / "v").write_text("yes")
    graph = site(USED).graph
    await converge_once(graph=graph)
    (tmp_path / "condition").unlink()
    (tmp_path / "value").write_text("none")
    _, story = await converge_once(graph=site(USED).graph, options=RunOptions(noop=True))
    for name in ("condition", "same", "value"):
        (check,) = story.checks(f"file#{tmp_path}/{name}")
        assert check.actions == ("Can't tell before exec#v is applied (its outputs are used)",)
    (tmp_path / "value").write_text("else")
    _, story = await converge_once(graph=site(USED).graph, options=RunOptions(noop=True))
    (check,) = story.checks(f"file#{tmp_path}/value")
    assert check.actions == ("Would have updated the file",)
    assert check.diffs == (), "the value in it would be that of now"
