"""Parts of real files: one write for all of them, and what is declared is there, whoever else writes."""

from __future__ import annotations

import os
import shlex
import stat

import pytest
from parts_worlds import block, line, setting

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.graph.build import build
from reactor.resource.plan import ResourceError
from reactor.resources.file import File
from reactor.resources.parts import shared_file
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

ME, MINE = str(os.geteuid()), str(os.getegid())


def results(story):
    return {ref: story.result(ref) for ref in story.engine.vertex_table.refs}


def counting(log):
    """A validator that counts its runs, and refuses a file with the word bad."""
    script = f'echo run >> {shlex.quote(str(log))}; ! grep -q bad "$1"'
    return f"/bin/sh -c {shlex.quote(script)} validator {{path}}"


async def test_all_parts_of_a_file_are_written_at_once(tmp_path):
    path, log = tmp_path / "f.ini", tmp_path / "log"
    path.write_bytes(b"a = 1\r\n\xff")
    path.chmod(0o640)
    parts = [
        line("# one", path, validate=counting(log)),
        line("# two", path),
        block("b", path, content="x = 1"),
        setting("a", path, value=2),
    ]
    ended, _ = await converge_once(*parts)
    assert (
        path.read_bytes()
        == b"a = 2\r\n\xff\r\n; BEGIN reactor: b\r\nx = 1\r\n; END reactor: b\r\n# one\r\n# two"
    )
    assert log.read_text() == "run\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert ended.counts[Result.CHANGED] == len(parts)
    inode = path.stat().st_ino
    _, again = await converge_once(*parts)
    assert set(results(again).values()) == {Result.OK}
    assert path.stat().st_ino == inode


async def test_a_part_that_the_validator_refuses_keeps_no_other_out(tmp_path):
    path, log = tmp_path / "f", tmp_path / "log"
    path.write_text("old\n")
    parts = [line(name, path, validate=counting(log)) for name in ("good", "bad", "better")]
    _, story = await converge_once(*parts)
    assert sorted(path.read_text().split()) == ["better", "good", "old"]
    assert results(story) == {
        "line#good": Result.CHANGED,
        "line#bad": Result.FAILED,
        "line#better": Result.CHANGED,
    }


async def test_a_lost_marker_keeps_no_other_part_out(tmp_path):
    path = tmp_path / "f"
    path.write_text("# BEGIN reactor: b\n")
    _, story = await converge_once(line("a", path), block("b", path, content="x"))
    assert path.read_text() == "# BEGIN reactor: b\na\n"
    assert results(story) == {"line#a": Result.CHANGED, "block#b": Result.FAILED}


@pytest.mark.parametrize("noop", [False, True])
async def test_a_missing_file_is_an_error(tmp_path, noop):
    _, story = await converge_once(line("a", tmp_path / "f"), options=RunOptions(noop=noop))
    assert results(story) == {"line#a": Result.FAILED}
    assert os.listdir(tmp_path) == []


async def test_a_missing_file_is_created_if_that_is_wanted(tmp_path):
    path = tmp_path / "f"
    part = line("a", path, create=True, owner=ME, group=MINE, mode="0600")
    await converge_once(part, line("b", path), line("c", tmp_path / "g", ensure="absent"))
    assert path.read_text() == "a\nb\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["f"]


async def test_one_part_creates_the_file_for_the_others(tmp_path):
    path = tmp_path / "f"
    _, story = await converge_once(line("a", path), line("b", path, create=True), line("c", path))
    assert path.read_text() == "a\nb\nc\n"
    assert set(results(story).values()) == {Result.CHANGED}


async def test_what_one_part_validates_is_validated_for_all(tmp_path):
    path, log = tmp_path / "f", tmp_path / "log"
    path.write_text("good\n")
    _, story = await converge_once(line("bad", path), line("good", path, validate=counting(log)))
    assert path.read_text() == "good\n"
    assert results(story) == {"line#bad": Result.FAILED, "line#good": Result.OK}


async def test_a_file_that_another_resource_creates_comes_first(tmp_path):
    path = tmp_path / "f"
    whole = File(name=str(path), ensure="present", owner=ME, group=MINE, mode="0600")
    _, story = await converge_once(line("a", path), whole)
    assert path.read_text() == "a\n"
    assert set(results(story).values()) == {Result.CHANGED}


async def test_a_symlink_stays_and_its_target_is_edited(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("x\n")
    link.symlink_to("real")
    await converge_once(line("a", link), line("b", real), line("c", link))
    assert link.is_symlink()
    assert sorted(real.read_text().split()) == ["a", "b", "c", "x"]


async def test_an_outside_change_is_repaired_and_the_rest_stays(tmp_path):
    path = tmp_path / "f"
    path.write_text("x\n")
    async with running(line("a", path), line("b", path)) as story:
        await story.converged()
        path.write_text("y\nb\n")
        await story.until(lambda: path.read_text() == "y\nb\na\n")


async def test_a_stamp_that_was_set_back_hides_nothing(tmp_path):
    path = tmp_path / "f"
    path.write_text("aa\n")
    os.utime(path, ns=(10**18, 10**18))
    part = line("aa", path)
    assert part.plan(await part.observe(), refresh=False) == ()
    path.write_text("bb\n")
    os.utime(path, ns=(10**18, 10**18))
    assert len(part.plan(await part.observe(), refresh=False)) == 1


def changing(path, log, *, times):
    """A validator during whose first runs another program writes the file."""
    script = f"echo run >> {log}; [ $(grep -c run {log}) -gt {times} ] || grep -c run {log} > {path}"
    return f"/bin/sh -c {shlex.quote(script)} validator {{path}}"


async def test_what_another_program_writes_meanwhile_is_kept(tmp_path):
    path, log = tmp_path / "f", tmp_path / "log"
    path.write_text("x\n")
    part = line("a", path, validate=changing(path, log, times=2))
    assert await type(part).apply_group([part, line("b", path)]) == {}
    assert path.read_text() == "2\na\nb\n"
    assert log.read_text() == "run\n" * 3


async def test_a_file_that_is_written_all_the_time_is_an_error(tmp_path):
    path, log = tmp_path / "f", tmp_path / "log"
    path.write_text("x\n")
    part = line("a", path, validate=changing(path, log, times=9))
    with pytest.raises(ResourceError, match="another program changed"):
        await part.plan(await part.observe(), refresh=False)[0].run()
    assert path.read_text() == "5\n"


def make_huge(path):
    path.touch()
    os.truncate(path, (64 << 20) + 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "is not a regular file"),
        (os.mkdir, "is not a regular file"),
        (make_huge, "only files of up to 64"),
    ],
)
async def test_what_is_no_file_of_text_is_an_error(tmp_path, make, words):
    make(tmp_path / "f")
    with pytest.raises(ResourceError, match=words):
        await line("a", tmp_path / "f").observe()


async def test_a_large_file_is_edited(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"x" * 79 + b"\n" + (b"y" * 79 + b"\n") * 50_000)
    await converge_once(line("a", path, insert_after="^x"), line("b", path))
    assert path.read_bytes().startswith(b"x" * 79 + b"\na\ny")
    assert path.read_bytes().endswith(b"y\nb\n")


async def test_a_symlink_of_another_user_is_not_followed(tmp_path):
    theirs, target = tmp_path / "theirs", tmp_path / "target"
    theirs.mkdir()
    target.write_text("secret\n")
    (theirs / "f").symlink_to(target)
    os.chown(theirs, 1, 1)
    os.chown(theirs / "f", 1, 1, follow_symlinks=False)
    with pytest.raises(ResourceError, match="leads through a symlink of"):
        await line("a", theirs / "f").observe()
    with pytest.raises(ResourceError, match="leads through a symlink of"):
        await line("a", theirs / "f").apply_group([line("a", theirs / "f")])
    assert target.read_text() == "secret\n"


async def test_nothing_is_created_through_a_symlink_that_leads_nowhere(tmp_path):
    (tmp_path / "f").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ResourceError, match="is a symlink that leads nowhere"):
        await line("a", tmp_path / "f", create=True).apply_group([line("a", tmp_path / "f", create=True)])
    assert os.listdir(tmp_path) == ["f"]


async def test_a_file_in_a_directory_of_a_user_stays_theirs(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "f").write_text("x\n")
    for path in (theirs, theirs / "f"):
        os.chown(path, 1, 1)
    await converge_once(line("a", theirs / "f"))
    assert (theirs / "f").read_text() == "x\na\n"
    assert (theirs / "f").stat().st_uid == 1


def problems(*resources):
    _, found = build(resources)
    return [problem.message for problem in found]


def test_contradictions_are_found_when_the_manifest_is_loaded(tmp_path):
    ssh = {"match": "^#?Port"}
    whole = File(name="/f", ensure="present", content="x", owner=ME, group=MINE, mode="0644")
    agreed = "line#a and line#b do not agree on the line 'Port 2' of /f"
    assert problems(line("a", "/f", line="Port 1", **ssh), line("b", "/f", line="Port 2", **ssh)) == [agreed]
    assert problems(line("Port 1", "/f"), line("b", "/f", ensure="absent", match="^Port")) == [
        "line#Port 1 and line#b do not agree on the lines that match '^Port' of /f"
    ]
    assert problems(setting("a", "/f.ini", value=1), setting("b", "/f.ini", key="a", value=2)) == [
        "setting#a and setting#b do not agree on the key a of /f.ini"
    ]
    assert problems(setting("a", "/f.json", value={"b": 1}), setting("a.b", "/f.json", value=2)) == [
        "setting#a and setting#a.b do not agree on the key a.b of /f.json"
    ]
    assert (
        problems(setting("a", "/f", value=1, format="ini"), setting("b", "/f", value=2, format="json")) != []
    )
    assert problems(whole, line("a", "/f")) == ["file#/f and line#a do not agree on content of the path /f"]
    assert (
        problems(line("a", "/f"), File(name="/f", ensure="directory", owner=ME, group=MINE, mode="0755"))
        != []
    )


def test_parts_that_agree_are_no_problem():
    owned = File(name="/f", ensure="present", owner=ME, group=MINE, mode="0644")
    parts = [
        line("Port 1", "/f"),
        line("again", "/f", line="Port 1"),
        line("b", "/f", insert_after="^Port"),
        block("c", "/f", content="d"),
        setting("e", "/f", format="keyvalue", value="f"),
        setting("g", "/f", format="keyvalue", ensure="absent"),
    ]
    assert problems(owned, *parts) == []
    assert problems(File(name="/f", ensure="absent"), line("a", "/f", ensure="absent")) == []


def test_parts_wait_for_their_file_and_others_wait_for_all_parts():
    owned = File(name="/d/f", ensure="present", owner=ME, group=MINE, mode="0644")
    copy = File(name="/e", ensure="present", source="/d/f", owner=ME, group=MINE, mode="0644")
    directory = File(name="/d", ensure="directory", owner=ME, group=MINE, mode="0755")
    graph, found = build(
        [line("a", "/d/f"), setting("b", "/d/f", format="ini", value=1), copy, owned, directory]
    )
    assert found == []
    assert {*graph.dag.edges} == {
        ("file#/d", "file#/d/f"),
        ("file#/d/f", "line#a"),
        ("file#/d/f", "setting#b"),
        ("file#/d/f", "file#/e"),
        ("line#a", "file#/e"),
        ("setting#b", "file#/e"),
    }


def spoiled(tmp_path):
    path = tmp_path / "f.ini"
    path.write_text("a = 1\n")
    return path


CASES = {
    "line": lambda path: line("x", path),
    "block": lambda path: block("x", path, content="y"),
    "setting": lambda path: setting("a", path, value=2),
    "created": lambda path: line("x", f"{path}.new", create=True),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_kinds_keep_the_contract(promise, name, tmp_path):
    path = spoiled(tmp_path)

    def world():
        return {each.name: (each.read_bytes(), each.stat().st_mode) for each in tmp_path.iterdir()}

    def spoil():
        path.write_text("a = 1\n")
        tmp_path.joinpath("f.ini.new").unlink(missing_ok=True)

    await promise(Case(lambda: CASES[name](path), world, spoil))


async def test_a_file_that_appears_while_another_is_written_is_edited(tmp_path):
    path, log = tmp_path / "f", tmp_path / "log"
    part = line("a", path, create=True, validate=changing(path, log, times=1))
    await part.plan(await part.observe(), refresh=False)[0].run()
    assert path.read_text() == "1\na\n"


async def test_a_file_is_read_once_for_all_its_parts_that_are_as_desired(tmp_path, monkeypatch):
    path, opened = tmp_path / "sysctl.conf", []
    path.write_text("".join(f"key{number} = 1\n" for number in range(20)))
    real = shared_file.open_source
    monkeypatch.setattr(shared_file, "open_source", lambda path: opened.append(path) or real(path))
    parts = [
        *(line(f"key{number} = 1", path) for number in range(10)),
        setting("key15", path, value=1, format="keyvalue"),
    ]
    ended, story = await converge_once(*parts)
    assert opened == [str(path)]
    assert ended.counts[Result.OK] == len(parts)
    path.write_text(path.read_text().replace("key3 = 1\n", ""))
    _, story = await converge_once(*parts)
    assert [ref for ref, result in results(story).items() if result is Result.CHANGED] == ["line#key3 = 1"]
    assert path.read_text().count("key3 = 1\n") == 1


async def test_a_full_check_reads_a_file_again_that_has_not_moved(tmp_path, monkeypatch):
    path, opened = tmp_path / "f", []
    path.write_text("a\n")
    part = line("a", path)
    monkeypatch.setattr(shared_file, "stamp_is_reliable", lambda *_: True)
    assert not part.plan(await part.observe(), refresh=False)
    real = shared_file.open_source
    monkeypatch.setattr(shared_file, "open_source", lambda path: opened.append(path) or real(path))
    assert not part.plan(await part.observe(), refresh=False)
    assert opened == []
    part.run_again()
    assert not part.plan(await part.observe(), refresh=False)
    assert opened == [str(path)]


async def test_a_part_that_can_not_be_judged_fails_alone(tmp_path):
    path = tmp_path / "f.json"
    path.write_text('{"a": 1, "b": {"c": 2}}')
    ended, story = await converge_once(setting("a", path, value=1), setting("b.c.x", path, value=3))
    assert ended.counts[Result.OK] == 1
    assert "is not a mapping" in story.checks("setting#b.c.x")[0].error
    assert path.read_text() == '{"a": 1, "b": {"c": 2}}'
