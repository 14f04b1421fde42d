"""Owner and modes of a whole tree, and the files that root must leave alone."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from file_worlds import converge, look, make, mode_of, picture, repairs
from namespaces import run_in_namespaces

from reactor import ManifestError
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.loading import load
from reactor.resource.plan import ResourceError
from reactor.resources.file import owned_tree
from reactor.testing.story import converge_once, running

APP, STRANGER = 4321, 1234


def tree(path: Path, **properties):
    own = {"owner": str(APP), "group": str(APP), "mode": "0750"}
    return make(path, **({"ensure": "directory", "recurse": True} | own | properties))


def grow(root: Path, *names: str, owner: int = 0) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.chown(path, owner, owner)


def owners(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): path.lstat().st_uid for path in (root, *root.rglob("*"))}


async def test_owner_group_and_modes_are_those_of_everything_in_it(tmp_path):
    root = tmp_path / "t"
    grow(root, "a", "deep/b", "deep/down/program")
    (root / "deep/down/program").chmod(0o711)
    (root / "a").chmod(0o600)
    done = await converge(tree(root, file_mode="0640"))
    assert done == [
        "changed owner from 0 to 4321, changed group from 0 to 4321, changed mode from 0755 to 0750",
        "set owner, group, mode of 5 files and directories in it",
    ]
    assert set(owners(root).values()) == {APP}
    assert [mode_of(root / each) for each in ("a", "deep", "deep/b")] == [0o640, 0o750, 0o640]
    assert mode_of(root / "deep/down/program") == 0o750, "users that may read it may execute it"


async def test_without_file_mode_the_modes_of_files_stay(tmp_path):
    grow(tmp_path / "t", "secret", "script")
    (tmp_path / "t/secret").chmod(0o600)
    (tmp_path / "t/script").chmod(0o755)
    await converge(tree(tmp_path / "t"))
    assert [mode_of(tmp_path / "t" / each) for each in ("secret", "script")] == [0o600, 0o755]


@pytest.mark.parametrize(
    ("file_mode", "expected"), [("0644", 0o755), ("0600", 0o700), ("0755", 0o755), ("0000", 0)]
)
async def test_a_program_stays_one(tmp_path, file_mode, expected):
    grow(tmp_path / "t", "program")
    (tmp_path / "t/program").chmod(0o744)
    await converge(tree(tmp_path / "t", file_mode=file_mode))
    assert mode_of(tmp_path / "t/program") == expected


async def test_symlinks_are_neither_followed_nor_changed(tmp_path):
    grow(tmp_path / "t", "a")
    grow(tmp_path / "away", "theirs")
    (tmp_path / "t/link").symlink_to("../away")
    (tmp_path / "t/file").symlink_to("../away/theirs")
    before = picture(tmp_path / "away")
    await converge(tree(tmp_path / "t", file_mode="0600"))
    assert picture(tmp_path / "away") == before
    assert owners(tmp_path / "t")["link"] == 0


async def test_a_root_that_is_a_symlink_is_an_error(tmp_path):
    (tmp_path / "real").mkdir(mode=0o750)
    os.chown(tmp_path / "real", APP, APP)
    (tmp_path / "t").symlink_to("real")
    with pytest.raises(ResourceError, match="recurse does not follow"):
        await look(tree(tmp_path / "t"))


@pytest.mark.parametrize("is_noop", [True, False])
async def test_a_second_name_that_a_user_could_have_made_is_not_given_away(tmp_path, is_noop):
    """As with fs.protected_hardlinks=0: a user links a file of root into a directory of theirs."""
    root = tmp_path / "t"
    grow(root, "a")
    grow(tmp_path, "secret")
    os.link(tmp_path / "secret", root / "link")
    os.chown(root, STRANGER, STRANGER)
    before = picture(tmp_path)
    _, story = await converge_once(tree(root, mode="0777"), options=RunOptions(noop=is_noop))
    [check] = story.checks(f"file#{root}")
    assert check.result is Result.FAILED
    assert "has 2 hard links" in (check.error or "")
    assert (tmp_path / "secret").stat().st_uid == 0
    assert (root / "a").stat().st_uid == (0 if is_noop else APP), "all else is set"
    if is_noop:
        assert picture(tmp_path) == before


async def test_a_file_that_is_exchanged_for_a_link_before_the_change_is_refused(tmp_path):
    root = tmp_path / "t"
    grow(root, "a")
    grow(tmp_path, "secret")
    resource = tree(root, mode="0777")
    plan = await look(resource)
    (root / "a").unlink()
    os.link(tmp_path / "secret", root / "a")
    await plan[0].run()
    with pytest.raises(ResourceError, match="hard links"):
        await plan[1].run()
    assert (tmp_path / "secret").stat().st_uid == 0


async def test_a_setuid_program_of_another_user_does_not_become_one_of_the_owner(tmp_path):
    grow(tmp_path / "t", "program", owner=STRANGER)
    (tmp_path / "t/program").chmod(0o4755)
    await converge(tree(tmp_path / "t"))
    assert (tmp_path / "t/program").stat().st_uid == APP
    assert not (tmp_path / "t/program").stat().st_mode & stat.S_ISUID


async def test_what_other_resources_manage_is_left_to_them(tmp_path):
    own = "owner: '0', group: '0'"
    (tmp_path / "site.yaml").write_text(
        "resources:\n"
        f"  - file: [{{{tmp_path}/t: {{ensure: directory, recurse: true, owner: '{APP}', group: '0', mode: '0755'}}}}]\n"
        f"  - file: [{{{tmp_path}/t/mine: {{ensure: present, content: x, {own}, mode: '0600'}}}}]\n"
        f"  - file: [{{{tmp_path}/t/sub: {{ensure: directory, {own}, mode: '0700'}}}}]\n"
    )
    grow(tmp_path / "t", "a", "sub/b")
    for _ in range(2):
        ended, _ = await converge_once(graph=load(str(tmp_path / "site.yaml")).graph)
    assert ended.changes == 0
    assert owners(tmp_path / "t") == {".": APP, "a": APP, "mine": 0, "sub": 0, "sub/b": 0}


@pytest.mark.parametrize("drift", ["chown", "chmod", "file", "tree"])
async def test_drift_anywhere_in_it_is_announced(tmp_path, drift):
    root = tmp_path / "t"
    grow(root, "deep/down/a")
    async with running(tree(root, file_mode="0640")) as story:
        await story.converged()
        if drift == "chown":
            os.chown(root / "deep/down", 7, 7)
        elif drift == "chmod":
            (root / "deep/down/a").chmod(0o666)
        elif drift == "file":
            grow(root, "deep/new")
        else:
            grow(tmp_path, "elsewhere/far/b")
            (tmp_path / "elsewhere").rename(root / "moved")
        await story.until(lambda: repairs(story, root))
        await story.rest()
        assert set(owners(root).values()) == {APP}
        assert all(mode_of(each) == 0o640 for each in root.rglob("*") if each.is_file())


async def test_a_change_of_one_file_reads_only_that_file(tmp_path, monkeypatch):
    root = tmp_path / "t"
    grow(root, *(f"d{number}/f" for number in range(50)))
    async with running(tree(root)) as story:
        await story.converged()
        await story.rest()
        walked = []
        monkeypatch.setattr(owned_tree.TreeReconciler, "_walk", lambda *_: walked.append(True) or iter(()))
        os.chown(root / "d7/f", 7, 7)
        await story.until(lambda: repairs(story, root))
        await story.rest()
        assert (root / "d7/f").stat().st_uid == APP
        assert walked == []


MOUNTED = """
import os, subprocess, sys, trio
from reactor.resources.file import File
from reactor.testing.story import converge_once
root = sys.argv[1]
other = f"/run/reactor-test-{os.getpid()}"
os.makedirs(root + "/mnt"), os.makedirs(root + "/bound"), os.makedirs(other)
subprocess.run(["mount", "-t", "tmpfs", "none", root + "/mnt"], check=True)
subprocess.run(["mount", "--bind", other, root + "/bound"], check=True)
open(root + "/mnt/in", "w").close()
trio.run(lambda: converge_once(File(name=root, ensure="directory", recurse=True, owner="7", group="7", mode="0755")))
print(*(os.stat(root + each).st_uid for each in ("", "/mnt", "/mnt/in", "/bound")))
os.rmdir(other) if subprocess.run(["umount", root + "/bound"]).returncode == 0 else None
"""


def test_what_is_mounted_in_it_is_not_part_of_it(tmp_path):
    assert run_in_namespaces(MOUNTED, str(tmp_path / "t")) == ["7 0 0 0"]


async def test_a_diff_shows_some_and_counts_the_others(tmp_path):
    grow(tmp_path / "t", *(f"f{number}" for number in range(120)))
    _, story = await converge_once(tree(tmp_path / "t"), options=RunOptions(noop=True, diff=True))
    [check] = story.checks(f"file#{tmp_path}/t")
    assert check.actions[1] == "Would have set owner, group of 120 files and directories in it"
    assert check.diffs[1].endswith("and 20 more files and directories\n")


async def test_odd_names_and_a_deep_tree_are_set(tmp_path):
    root = tmp_path / "t"
    grow(root, "new\nline", "per%cent", "/".join(["d"] * 900) + "/f")
    (root / os.fsdecode(b"\xff\xfe")).write_text("x")
    await converge(tree(root))
    found = subprocess.run(["find", root, "!", "-user", str(APP)], capture_output=True, text=True, check=True)
    assert found.stdout == ""


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ("ensure: present, recurse: true, mode: '0644'", "recurse is only valid with 'ensure: directory'"),
        ("ensure: directory, file_mode: '0644', mode: '0755'", "file_mode is only valid with recurse"),
        ("ensure: directory, recurse: true, mode: '0755', meta: {reverse: true}", "can't be undone"),
    ],
)
def test_what_is_refused_when_the_manifest_is_loaded(tmp_path, properties, words):
    (tmp_path / "s.yaml").write_text(
        f"resources:\n  - file: [{{/t: {{owner: '0', group: '0', {properties}}}}}]\n"
    )
    with pytest.raises(ManifestError) as refused:
        load(str(tmp_path / "s.yaml"))
    assert any(words in each.message for each in refused.value.diagnostics)


@pytest.mark.parametrize(
    ("before", "file_mode", "after"),
    [(0o744, "0641", 0o641), (0o744, "0622", 0o722), (0o744, "0604", 0o705), (0o655, "0640", 0o640)],
)
async def test_who_may_execute_a_program_follows_from_who_may_read_it(tmp_path, before, file_mode, after):
    grow(tmp_path / "t", "program")
    (tmp_path / "t/program").chmod(before)
    await converge(tree(tmp_path / "t", file_mode=file_mode))
    assert mode_of(tmp_path / "t/program") == after


async def test_a_program_with_all_its_special_bits_keeps_them_only_with_its_owner(tmp_path):
    for name, owner in (("theirs", STRANGER), ("own", APP)):
        grow(tmp_path / "t", name, owner=owner)
        (tmp_path / "t" / name).chmod(0o6755)
    await converge(tree(tmp_path / "t"))
    assert [mode_of(tmp_path / "t" / name) for name in ("theirs", "own")] == [0o755, 0o6755]


@pytest.mark.parametrize(
    ("properties", "after"),
    [
        ({}, 0o3750),
        ({"sticky": False}, 0o2750),
        ({"setgid": True, "sticky": False}, 0o2750),
        ({"setgid": False}, 0o1750),
    ],
)
async def test_directories_in_it_keep_the_special_bits_that_are_not_managed(tmp_path, properties, after):
    (tmp_path / "t/d").mkdir(parents=True)
    os.chown(tmp_path / "t/d", APP, APP)
    (tmp_path / "t/d").chmod(0o3700)
    resource = tree(tmp_path / "t", **properties)
    await converge(resource)
    assert mode_of(tmp_path / "t/d") == after
    assert await look(resource) == ()


async def test_a_file_that_is_gone_before_the_change_holds_nothing_up(tmp_path):
    root = tmp_path / "t"
    grow(root, "a", "b", "c")
    plan = await look(tree(root))
    (root / "b").unlink()
    for action in plan:
        await action.run()
    assert owners(root) == {".": APP, "a": APP, "c": APP}


@pytest.mark.parametrize(("count", "words"), [(1, "1 file or directory"), (2, "2 files and directories")])
async def test_a_change_says_how_many_differ_and_its_diff_shows_each_of_a_few(tmp_path, count, words):
    grow(tmp_path / "t", *(f"f{number}" for number in range(count)))
    action = (await look(tree(tmp_path / "t")))[1]
    assert action.did == f"set owner, group of {words} in it"
    text = await (await action.diff())()
    assert text.count("+owner: 4321\n") == count
    assert "more" not in text


async def test_the_last_of_101_files_is_counted(tmp_path):
    grow(tmp_path / "t", *(f"f{number}" for number in range(101)))
    action = (await look(tree(tmp_path / "t")))[1]
    assert (await (await action.diff())()).endswith("\nand 1 more files and directories\n")


async def test_a_file_in_the_place_of_a_tree_is_replaced_by_the_directory(tmp_path):
    (tmp_path / "t").write_text("x")
    assert [action.did for action in await look(tree(tmp_path / "t"))] == [
        "created the directory in place of a regular file"
    ]
