"""Trees of real files: made, kept, purged and removed."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from scaffold_worlds import converge, grow, look, make, tree

from reactor.resource.plan import ResourceError
from reactor.resources.scaffold import builder

DATA = {"data": {"name": "web", "ports": [80, 443]}}


async def test_a_directory_of_templates_becomes_a_directory_of_files(tmp_path):
    grow(
        tmp_path / "templates",
        {"a.conf": "{{ data.name }}\n", "sub/deep/b": "{{ data.ports | join(',') }}", "plain": "x"},
    )
    assert await converge(make(tmp_path, DATA)) == ["changed 3 scaffold files"]
    assert tree(tmp_path / "out") == {"a.conf": "web\n", "plain": "x", "sub/deep/b": "80,443"}
    assert await look(make(tmp_path, DATA)) == ()


@pytest.mark.parametrize(
    ("engine", "template", "delimiters"),
    [
        ("jinja", "{{ data.name }}", None),
        ("go", "{{ .data.name }}", None),
        ("jet", "[[ data.name ]]", None),
        ("go", "<< .data.name >>", ("<<", ">>")),
        ("jet", "<< data.name >>", ("<<", ">>")),
    ],
)
async def test_every_engine_makes_files(tmp_path, engine, template, delimiters):
    left, right = delimiters or (None, None)
    grow(tmp_path / "templates", {"a": template})
    scaffold = make(tmp_path, DATA, engine=engine, left_delimiter=left, right_delimiter=right)
    await converge(scaffold)
    assert tree(tmp_path / "out") == {"a": "web"}


async def test_only_what_drifted_is_written_again(tmp_path):
    grow(tmp_path / "templates", {name: name for name in "abc"})
    scaffold = make(tmp_path)
    await converge(scaffold)
    before = {name: (tmp_path / "out" / name).stat().st_ino for name in "abc"}
    (tmp_path / "out" / "b").write_text("spoilt")
    assert await converge(scaffold) == ["changed 1 scaffold files"]
    after = {name: (tmp_path / "out" / name).stat().st_ino for name in "abc"}
    assert tree(tmp_path / "out") == {"a": "a", "b": "b", "c": "c"}
    assert {name for name in "abc" if before[name] != after[name]} == {"b"}


async def test_a_changed_partial_renders_just_the_templates_that_use_it(tmp_path):
    source = tmp_path / "templates"
    grow(
        source,
        {
            "one": "{% include '_partials/p' %}",
            "two": "{{ render('_partials/p', data) }}",
            "three": "3",
            "_partials/p": "old",
        },
    )
    scaffold = make(tmp_path, DATA)
    await converge(scaffold)
    (source / "_partials" / "p").write_text("new")
    assert scaffold._renderer.refresh() == {"one", "two"}
    await converge(scaffold)
    assert tree(tmp_path / "out") == {"one": "new", "two": "new", "three": "3"}
    assert scaffold._renderer.refresh() == frozenset()


async def test_templates_that_come_and_go_are_seen(tmp_path):
    grow(tmp_path / "templates", {"a": "1"})
    scaffold = make(tmp_path, purge=True)
    await converge(scaffold)
    (tmp_path / "templates" / "a").unlink()
    grow(tmp_path / "templates", {"new/b": "2"})
    await converge(scaffold)
    assert tree(tmp_path / "out") == {"new/b": "2"}


async def test_an_error_in_one_template_changes_nothing_and_names_its_place(tmp_path):
    grow(tmp_path / "templates", {"a": "fine", "z/bad": "line\n  {{ data.nme }}"})
    with pytest.raises(ResourceError) as caught:
        await look(make(tmp_path, DATA))
    assert caught.value.message.startswith(
        f"{tmp_path}/templates/z/bad:2:3: 'dict object' has no attribute 'nme'"
    )
    assert tree(tmp_path / "out") is None


async def test_the_errors_of_all_templates_are_said_at_once_and_each_once(tmp_path):
    part = {
        "_partials/p": "\n{{ nope }}",
        "b": "{% include '_partials/p' %}",
        "c": "{% include '_partials/p' %}",
    }
    many = {f"z/{number}": "{{ data.gone }}" for number in range(20)}
    grow(tmp_path / "templates", {"a": "fine", **part, "d": "{{ data.nme }}", "e": "fine", **many})
    with pytest.raises(ResourceError) as caught:
        await look(make(tmp_path, DATA))
    lines = caught.value.message.splitlines()
    assert lines[0] == f"{tmp_path}/templates/_partials/p:2:1: 'nope' is undefined"
    assert lines[1] == f"{tmp_path}/templates/d:1:1: 'dict object' has no attribute 'nme'"
    assert len(lines) == 9, "ten templates, two with one error"
    assert tree(tmp_path / "out") is None


async def test_an_error_stays_until_its_template_is_repaired(tmp_path):
    grow(tmp_path / "templates", {"a": "1", "b": "{% include '_partials/p' %}", "_partials/p": "fine"})
    scaffold = make(tmp_path)
    await converge(scaffold)
    grow(tmp_path / "templates", {"_partials/p": "{{ nope }}"})
    for _ in range(2):
        with pytest.raises(ResourceError, match="_partials/p:1:1: 'nope' is undefined"):
            await look(scaffold)
    grow(tmp_path / "templates", {"_partials/p": "mended"})
    await converge(scaffold)
    assert tree(tmp_path / "out") == {"a": "1", "b": "mended"}


async def test_noop_reports_and_touches_nothing(tmp_path):
    grow(tmp_path / "templates", {"a": "new\n", "b": "same\n"})
    grow(tmp_path / "out", {"a": "old\n", "b": "same\n", "c": "foreign\n"})
    (action,) = await look(make(tmp_path, purge=True, post=[{"*": f"touch {tmp_path}/ran"}]))
    assert action.would == "Would have changed 2 scaffold files"
    shown = await (await action.diff())()
    assert "-old\n+new\n" in shown
    assert f"--- {tmp_path}/out/c\n+++ /dev/null\n" in shown
    assert "same" not in shown
    assert tree(tmp_path / "out") == {"a": "old\n", "b": "same\n", "c": "foreign\n"}
    assert not (tmp_path / "ran").exists()


async def test_foreign_files_stay_unless_purge_says_otherwise(tmp_path):
    grow(tmp_path / "templates", {"a": "1"})
    grow(tmp_path / "out", {"foreign": "f", "d/e/foreign": "f"})
    await converge(make(tmp_path))
    assert tree(tmp_path / "out") == {"a": "1", "foreign": "f", "d/e/foreign": "f"}
    assert await converge(make(tmp_path, purge=True)) == ["changed 2 scaffold files"]
    assert tree(tmp_path / "out") == {"a": "1"}
    assert not (tmp_path / "out" / "d").exists()


async def test_absent_removes_what_belongs_to_the_scaffold_and_leaves_the_rest(tmp_path):
    grow(tmp_path / "templates", {"a": "1", "d/b": "2"})
    await converge(make(tmp_path))
    grow(tmp_path / "out", {"foreign": "f"})
    assert await converge(make(tmp_path, ensure="absent")) == ["removed 2 scaffold files"]
    assert tree(tmp_path / "out") == {"foreign": "f"}
    assert not (tmp_path / "out" / "d").exists()
    (tmp_path / "out" / "foreign").unlink()
    await converge(make(tmp_path))
    await converge(make(tmp_path, ensure="absent"))
    assert tree(tmp_path / "out") is None


async def test_empty_files_are_skipped_when_asked(tmp_path):
    grow(tmp_path / "templates", {"a": "{% if false %}x{% endif %}\n", "b": "b"})
    await converge(make(tmp_path))
    assert tree(tmp_path / "out") == {"a": "\n", "b": "b"}
    await converge(make(tmp_path, skip_empty=True, purge=True))
    assert tree(tmp_path / "out") == {"b": "b"}


async def test_a_tree_of_nothing_is_an_empty_directory(tmp_path):
    grow(tmp_path / "templates", {"a": " "})
    assert await converge(make(tmp_path, skip_empty=True)) == ["changed 1 scaffold directories"]
    assert tree(tmp_path / "out") == {}


async def test_write_makes_further_files_inside_the_target_only(tmp_path):
    grow(
        tmp_path / "templates",
        {"a": "{% for p in data.ports %}{{ write('port/' ~ p, p | string) }}{% endfor %}"},
    )
    await converge(make(tmp_path, DATA, skip_empty=True))
    assert tree(tmp_path / "out") == {"port/80": "80", "port/443": "443"}
    grow(tmp_path / "templates", {"a": "{{ write('../escaped', 'x') }}"})
    with pytest.raises(ResourceError, match=r"templates/a:1:1: \.\./escaped is not inside the target"):
        await look(make(tmp_path, DATA))
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize(
    ("engine", "call"),
    [
        ("jinja", "{{ render('_partials/p', {'extra': 1}) }}"),
        ("go", '{{ render "_partials/p" (dict "extra" 1) }}'),
        ("jet", '[[ render("_partials/p", map("extra", 1)) ]]'),
    ],
)
async def test_render_sees_its_own_data_and_all_other(tmp_path, engine, call):
    partials = {
        "jinja": "{{ data.name }}{{ extra }}",
        "go": "{{ .data.name }}{{ .extra }}",
        "jet": "[[ data.name ]][[ extra ]]",
    }
    grow(tmp_path / "templates", {"a": call, "_partials/p": partials[engine]})
    await converge(make(tmp_path, DATA, engine=engine))
    assert tree(tmp_path / "out") == {"a": "web1"}
    grow(tmp_path / "templates", {"a": call.replace("_partials/p", "_partials/q")})
    with pytest.raises(ResourceError, match=r"templates/a:1:.* there is no template _partials/q"):
        await look(make(tmp_path, DATA, engine=engine))


@pytest.mark.parametrize(
    ("engine", "call", "partial"),
    [
        ("jinja", "{{ render('_partials/p', [1, 2]) }}", "{{ data[1] }}{{ facts.role }}"),
        ("go", '{{ render "_partials/p" (list 1 2) }}', "{{ index . 1 }}{{ range . }}{{ . }}{{ end }}"),
        ("jet", '[[ render("_partials/p", slice(1, 2)) ]]', "[[ .[1] ]][[ data[0] ]][[ facts.role ]]"),
    ],
)
async def test_what_is_rendered_with_no_map_sees_it_as_it_is(tmp_path, engine, call, partial):
    grow(tmp_path / "templates", {"a": call, "_partials/p": partial})
    await converge(make(tmp_path, {"facts": {"role": "db"}}, engine=engine))
    assert tree(tmp_path / "out") == {"a": {"jinja": "2db", "go": "212", "jet": "21db"}[engine]}


async def test_commands_run_for_the_files_that_changed(tmp_path):
    grow(tmp_path / "templates", {"a.sh": "echo a", "b.txt": "b", "c.sh": "echo c"})
    scaffold = make(tmp_path, post=[{"*.sh": "chmod +x {}"}, {"*.txt": "sed -i s/b/B/"}])
    await converge(scaffold)
    out = tmp_path / "out"
    assert os.access(out / "a.sh", os.X_OK)
    assert (out / "b.txt").read_text() == "B"
    assert await look(scaffold) == ()
    (out / "a.sh").chmod(0o644)
    assert await look(scaffold) == (), "modes are not managed"
    grow(tmp_path / "templates", {"c.sh": "echo d"})
    await converge(scaffold)
    assert os.access(out / "c.sh", os.X_OK)
    assert not os.access(out / "a.sh", os.X_OK), "it did not change"


async def test_what_a_command_makes_of_a_managed_mode_is_as_desired(tmp_path):
    grow(tmp_path / "templates", {"a.sh": "echo a", "b": "b"})
    wanted = {"post": [{"*.sh": f"sh -c 'chmod u+x {{}}; echo >>{tmp_path}/ran'"}], "file_mode": "0640"}
    scaffold, script = make(tmp_path, **wanted), tmp_path / "out" / "a.sh"
    await converge(scaffold)
    script.chmod(0o600)
    assert await converge(scaffold) == ["changed 1 scaffold files"]
    assert stat.S_IMODE(script.stat().st_mode) == 0o740
    assert stat.S_IMODE((tmp_path / "out" / "b").stat().st_mode) == 0o640
    assert (tmp_path / "ran").read_text() == "\n", "the file itself had not changed"
    await converge(make(tmp_path, **wanted))
    assert stat.S_IMODE(script.stat().st_mode) == 0o740, "a new process runs the command again"


async def test_a_command_that_fails_is_reported_with_its_file(tmp_path):
    grow(tmp_path / "templates", {"a": "a"})
    (action,) = await look(make(tmp_path, post=[{"*": "sh -c 'echo no >&2; exit 3'"}]))
    with pytest.raises(ResourceError, match=r"post: exit code 3 of sh for .*/out/a"):
        await action.run()


async def test_a_command_that_failed_is_run_again(tmp_path):
    grow(tmp_path / "templates", {"a": "a", "b": "b"})
    scaffold = make(tmp_path, post=[{"a": f"test -e {tmp_path}/ready -a"}])
    (action,) = await look(scaffold)
    with pytest.raises(ResourceError, match="post: exit code 1 of test"):
        await action.run()
    (tmp_path / "ready").touch()
    [note] = (tmp_path / "out").glob(".post.*.reactor")
    words = f"changed 1 scaffold files, removed temporary files of an interrupted run: {note}"
    assert await converge(scaffold) == [words]
    assert not note.exists()
    assert await look(scaffold) == ()


async def test_modes_of_the_tree_are_kept(tmp_path):
    grow(tmp_path / "templates", {"d/a": "a"})
    scaffold = make(tmp_path, file_mode="0600", directory_mode="0750")
    await converge(scaffold)
    out = tmp_path / "out"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (out, out / "d", out / "d" / "a")]
    assert modes == [0o750, 0o750, 0o600]
    inode = (out / "d" / "a").stat().st_ino
    (out / "d" / "a").chmod(0o644)
    (out / "d").chmod(0o700)
    assert await converge(scaffold) == ["changed 1 scaffold files"]
    assert stat.S_IMODE((out / "d").stat().st_mode) == 0o750
    assert (out / "d" / "a").stat().st_ino == inode, "its content was not written again"


async def test_what_is_neither_file_nor_directory_is_no_template(tmp_path):
    grow(tmp_path / "templates", {"a": "a"})
    (tmp_path / "templates" / "link").symlink_to("a")
    with pytest.raises(ResourceError, match="link is not a template"):
        await look(make(tmp_path))


async def test_a_symlink_in_the_target_is_replaced_and_never_followed(tmp_path):
    grow(tmp_path / "templates", {"a": "new"})
    grow(tmp_path, {"victim": "mine"})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").symlink_to(tmp_path / "victim")
    await converge(make(tmp_path))
    assert (tmp_path / "victim").read_text() == "mine"
    assert tree(tmp_path / "out") == {"a": "new"}
    assert not (tmp_path / "out" / "a").is_symlink()


async def test_a_directory_in_the_way_of_a_file_is_left_alone(tmp_path):
    grow(tmp_path / "templates", {"a": "new"})
    grow(tmp_path / "out", {"a/b": "mine"})
    with pytest.raises(ResourceError, match="is a directory, where a file of the scaffold belongs"):
        await look(make(tmp_path))


DEEP = 400


def dig(root):
    """Make a file deeper below ``root`` than functions may be called."""
    path = str(root)
    os.mkdir(path)
    for _ in range(DEEP):
        path += "/d"
        os.mkdir(path)
    Path(path, "bottom").write_text("x")


@pytest.fixture
def shallow_stack():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)
    yield
    sys.setrecursionlimit(limit)


async def test_trees_deeper_than_the_stack_are_compared(tmp_path, shallow_stack):
    try:
        dig(tmp_path / "templates")
        dig(tmp_path / "out")
        assert await look(make(tmp_path, purge=True)) == ()
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "templates", tmp_path / "out"], check=True)


async def test_scaffolds_that_are_built_together_write_no_more_files_at_once_than_one(tmp_path, monkeypatch):
    files = {str(number): "text" for number in range(40)}
    writing = 0
    most = {"alone": 0, "together": 0}
    stored = builder.write_file

    async def store(path, *arguments):
        nonlocal writing
        writing += 1
        case = "alone" if "/alone/" in path else "together"
        most[case] = max(most[case], writing)
        await trio.lowlevel.checkpoint()
        await stored(path, *arguments)
        writing -= 1

    monkeypatch.setattr(builder, "write_file", store)
    for name in ("alone", "a", "b", "c"):
        grow(tmp_path / name / "templates", files)
    await converge(make(tmp_path / "alone"))
    async with trio.open_nursery() as nursery:
        for name in ("a", "b", "c"):
            nursery.start_soon(converge, make(tmp_path / name))
    assert all(tree(tmp_path / name / "out") == files for name in ("alone", "a", "b", "c"))
    assert 1 < most["together"] <= most["alone"]
