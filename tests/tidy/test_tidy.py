"""Which files of a directory are removed, when they are, and which a user can't make root remove."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from fixed_paths import immutable
from namespaces import run_in_namespaces

from reactor import ManifestError, PathWatch, ResourceError
from reactor.engine.events import Cause, Checked, Result
from reactor.engine.options import RunOptions
from reactor.loading import load
from reactor.resources.tidy import Tidy
from reactor.resources.tidy.rule import parse_size
from reactor.resources.tidy.sweep import Sweep
from reactor.testing.story import Story, converge_once, running

DAY = 86400
STRANGER = 1234


def tidy(root: Path, **properties) -> Tidy:
    return Tidy(**({"name": str(root), "age": "30d"} | properties))


def put(path: Path, days: float = 0, size: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    age(path, days)
    return path


def age(path: Path, days: float) -> None:
    moment = time.time() - days * DAY
    os.utime(path, (moment, moment), follow_symlinks=False)


def names(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def changes(story: Story, ref: str) -> list[Checked]:
    return [each for each in story.checks(ref) if each.result is Result.CHANGED]


async def swept(*resources: Tidy, **options) -> list[Result]:
    _, story = await converge_once(*resources, options=RunOptions(**options))
    return [story.checks(each.ref)[-1].result for each in resources]


@pytest.mark.parametrize(
    ("properties", "left"),
    [
        ({}, {"new", "new.log", "big", "d", "d/old"}),
        ({"matches": "*.log"}, {"old", "new", "new.log", "big", "d", "d/old"}),
        ({"matches": ["old", "x"]}, {"old.log", "new", "new.log", "big", "d", "d/old"}),
        ({"age": None, "size": "2k"}, {"old", "old.log", "new", "new.log", "d", "d/old"}),
        ({"size": "2k"}, {"old", "old.log", "new", "new.log", "big", "d", "d/old"}),
        ({"recurse": True}, {"new", "new.log", "big", "d"}),
        ({"age": None, "matches": "*.log"}, {"old", "new", "big", "d", "d/old"}),
        ({"age": "50d"}, {"old", "old.log", "new", "new.log", "big", "d", "d/old"}),
    ],
)
async def test_all_that_is_given_must_hold(tmp_path, properties, left):
    for name, days, size in (
        ("old", 40, 1),
        ("old.log", 40, 1),
        ("new", 1, 1),
        ("new.log", 1, 1),
        ("big", 1, 4096),
    ):
        put(tmp_path / name, days, size)
    put(tmp_path / "d/old", 40)
    for _ in range(2):
        [result] = await swept(tidy(tmp_path, **properties))
        assert names(tmp_path) == left
    assert result is Result.OK


@pytest.mark.parametrize("stamp", ["mtime", "atime", "ctime"])
async def test_the_age_is_by_the_time_that_is_named(tmp_path, stamp):
    path = put(tmp_path / "f")
    old, new = time.time() - 40 * DAY, time.time()
    os.utime(path, (old, new) if stamp == "atime" else (new, old))
    await swept(tidy(tmp_path, age_stamp=stamp))
    assert names(tmp_path) == ({"f"} if stamp == "ctime" else set())


async def test_old_directories_that_are_or_become_empty_go_too_and_no_others(tmp_path):
    put(tmp_path / "gone/deep/old", 40)
    put(tmp_path / "kept/old", 40)
    put(tmp_path / "kept/new", 1)
    (tmp_path / "empty").mkdir()
    (tmp_path / "fresh").mkdir()
    for name in ("gone/deep", "gone", "kept", "empty"):
        age(tmp_path / name, 40)
    [result] = await swept(tidy(tmp_path, recurse=True, rmdirs=True))
    assert result is Result.CHANGED
    assert names(tmp_path) == {"kept", "kept/new", "fresh"}
    assert tmp_path.is_dir()


async def test_a_dry_run_lists_what_would_go_and_removes_nothing(tmp_path):
    for number in range(120):
        put(tmp_path / f"f{number:03}", 40, 1024)
    _, story = await converge_once(tidy(tmp_path), options=RunOptions(noop=True, diff=True))
    [check] = story.checks(f"tidy#{tmp_path}")
    assert check.actions == ("Would have removed 120 files (120 KiB): f000, f001, f002 and 117 more",)
    assert check.diffs[0].count("+++ /dev/null") == 100
    assert check.diffs[0].endswith("and 20 more\n")
    assert len(names(tmp_path)) == 120


async def test_symlinks_go_as_files_do_and_are_never_followed(tmp_path):
    put(tmp_path / "away/old", 40)
    root = tmp_path / "t"
    root.mkdir()
    for name, target in (("dir", "../away"), ("file", "../away/old"), ("new", "../away/old")):
        (root / name).symlink_to(target)
        age(root / name, 0 if name == "new" else 40)
    await swept(tidy(root, recurse=True))
    assert names(root) == {"new"}
    assert names(tmp_path / "away") == {"old"}


async def test_sockets_fifos_and_devices_stay(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    os.mknod(tmp_path / "null", 0o20666, os.makedev(1, 3))
    os.mknod(tmp_path / "socket", 0o140666)
    for name in ("fifo", "null", "socket"):
        age(tmp_path / name, 40)
    await swept(tidy(tmp_path))
    assert names(tmp_path) == {"fifo", "null", "socket"}


async def test_a_directory_that_is_a_symlink_or_a_file_is_an_error_and_a_missing_one_is_tidy(tmp_path):
    put(tmp_path / "real/old", 40)
    (tmp_path / "link").symlink_to("real")
    assert await swept(tidy(tmp_path / "link")) == [Result.FAILED]
    assert await swept(tidy(tmp_path / "real/old")) == [Result.FAILED]
    assert await swept(tidy(tmp_path / "nowhere")) == [Result.OK]
    assert names(tmp_path / "real") == {"old"}


async def test_what_other_resources_manage_stays(tmp_path):
    root = tmp_path / "t"
    for name in ("managed", "stray", "sub/in"):
        put(root / name, 40)
    own = "owner: '0', group: '0'"
    (tmp_path / "site.yaml").write_text(
        "resources:\n"
        f"  - tidy: [{{{root}: {{age: 30d, recurse: true, rmdirs: true}}}}]\n"
        f"  - file: [{{{root}/managed: {{ensure: present, content: x, {own}, mode: '0644'}}}}]\n"
        f"  - file: [{{{root}/sub: {{ensure: directory, {own}, mode: '0755'}}}}]\n"
    )
    await converge_once(graph=load(str(tmp_path / "site.yaml")).graph)
    assert names(root) == {"managed", "sub", "sub/in"}


async def test_a_file_goes_at_the_moment_at_which_it_is_too_old(tmp_path):
    """No event announces that, and nothing is polled: the next moment is known."""
    put(tmp_path / "later", 10)
    async with running(tidy(tmp_path)) as story:
        await story.converged()
        soon = put(tmp_path / "soon")
        os.utime(soon, (time.time(), time.time() - 30 * DAY + 0.3))
        await story.until(lambda: not soon.exists())
        await story.rest()
        assert names(tmp_path) == {"later"}
        before = len(story.checks(f"tidy#{tmp_path}"))
        await story.rest()
        assert len(story.checks(f"tidy#{tmp_path}")) == before


async def test_a_file_that_is_old_when_it_comes_or_grows_too_large_goes_at_once(tmp_path):
    (tmp_path / "deep").mkdir()
    async with running(tidy(tmp_path, recurse=True), tidy(tmp_path / "deep", age=None, size="1k")) as story:
        await story.converged()
        put(tmp_path / "elsewhere", 40).rename(tmp_path / "deep/old")
        await story.until(lambda: not (tmp_path / "deep/old").exists())
        put(tmp_path / "deep/big", 0, 2048)
        await story.until(lambda: changes(story, f"tidy#{tmp_path}/deep"))
        assert not (tmp_path / "deep/big").exists()
        assert Cause.DRIFT in changes(story, f"tidy#{tmp_path}/deep")[-1].causes


async def test_an_event_costs_a_look_at_its_path_alone(tmp_path, monkeypatch):
    for number in range(50):
        put(tmp_path / f"d{number}/f")
    async with running(tidy(tmp_path, recurse=True)) as story:
        await story.converged()
        await story.rest()
        read = []
        monkeypatch.setattr(Sweep, "_read_all", lambda _: read.append(True))
        age(tmp_path / "d7/f", 40)
        await story.until(lambda: not (tmp_path / "d7/f").exists())
        await story.rest()
        assert read == []


@pytest.mark.parametrize("swap", ["another file", "a hard link", "a symlink", "its directory"])
async def test_what_was_exchanged_since_the_look_stays(tmp_path, swap):
    """The owner of the directory acts between the look and the removal."""
    secret = put(tmp_path / "root/old", 40)
    home = tmp_path / "home"
    put(home / "d/old", 40)
    for path in (home, home / "d", home / "d/old"):
        os.chown(path, STRANGER, STRANGER)
    resource = tidy(home, recurse=True)
    [action] = resource.plan(await resource.observe(), refresh=False)
    (home / "d/old").rename(home / "kept")
    if swap == "another file":
        put(home / "d/old", 40)
    elif swap == "a hard link":
        os.link(secret, home / "d/old")
    elif swap == "a symlink":
        (home / "d/old").symlink_to(secret)
    else:
        (home / "d").rmdir()
        (home / "d").symlink_to(tmp_path / "root")
        os.lchown(home / "d", STRANGER, STRANGER)
    await action.run()
    assert secret.exists()
    assert (home / "d/old").exists() or (home / "d/old").is_symlink()


async def test_a_file_that_is_written_after_the_look_stays(tmp_path):
    put(tmp_path / "f", 40)
    resource = tidy(tmp_path)
    [action] = resource.plan(await resource.observe(), refresh=False)
    (tmp_path / "f").write_text("in use again")
    await action.run()
    assert names(tmp_path) == {"f"}


async def test_a_symlink_of_a_stranger_above_is_not_followed(tmp_path):
    put(tmp_path / "root/old", 40)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/way").symlink_to(tmp_path / "root")
    os.chown(tmp_path / "home", STRANGER, STRANGER)
    os.lchown(tmp_path / "home/way", STRANGER, STRANGER)
    with pytest.raises(ResourceError):
        await tidy(tmp_path / "home/way/sub").observe()
    assert names(tmp_path / "root") == {"old"}


async def test_odd_names_and_deep_trees_are_tidied(tmp_path):
    put(tmp_path / "new\nline%s", 40)
    put(tmp_path / "/".join(["d"] * 900) / "f", 40)
    (tmp_path / os.fsdecode(b"\xff\xfe")).write_text("x")
    age(tmp_path / os.fsdecode(b"\xff\xfe"), 40)
    await swept(tidy(tmp_path, recurse=True))
    assert not [each for each in tmp_path.rglob("*") if not each.is_dir()]


MOUNTED = """
import os, subprocess, sys, trio
from reactor.resources.tidy import Tidy
from reactor.testing.story import converge_once
root = sys.argv[1]
os.makedirs(root + "/mnt")
subprocess.run(["mount", "-t", "tmpfs", "none", root + "/mnt"], check=True)
for name in ("/old", "/mnt/old"):
    open(root + name, "w").close()
    os.utime(root + name, (1, 1))
os.utime(root + "/mnt", (1, 1))
trio.run(lambda: converge_once(Tidy(name=root, age="1d", recurse=True, rmdirs=True)))
print(sorted(os.listdir(root)), os.listdir(root + "/mnt"))
"""


def test_what_is_mounted_in_it_stays(tmp_path):
    assert run_in_namespaces(MOUNTED, str(tmp_path / "t")) == ["['mnt'] ['old']"]


READ_ONLY = """
import os, subprocess, sys, trio
from reactor.engine.options import RunOptions
from reactor.resources.tidy import Tidy
from reactor.testing.story import converge_once
root = sys.argv[1]
os.makedirs(root)
open(root + "/old", "w").close()
os.utime(root + "/old", (1, 1))
subprocess.run(["mount", "--bind", root, root], check=True)
subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
for noop in (True, False):
    _, story = trio.run(lambda: converge_once(Tidy(name=root, age="1d"), options=RunOptions(noop=noop)))
    print(story.checks("tidy#" + root)[0].result)
"""


def test_on_a_read_only_file_system_a_dry_run_fails_as_the_run_does(tmp_path):
    assert run_in_namespaces(READ_ONLY, str(tmp_path / "t")) == ["failed", "failed"]


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("500k", 512000), ("10M", 10 << 20), ("1GiB", 1 << 30), (7, 7)]
)
def test_sizes_are_in_powers_of_1024(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "1.5M", "-1", "1X", True])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("/t: {}", "nothing says which files to remove"),
        ("/: {age: 1d}", "the filesystem root can't be tidied"),
        ("/t: {age: 1d, rmdirs: true}", "rmdirs is only valid with recurse and age"),
        ("/t: {size: 1k, recurse: true, rmdirs: true}", "rmdirs is only valid with recurse and age"),
        ("/t: {matches: a/b}", "is not a pattern"),
        ("/t: {age: 30}", "needs a unit"),
        ("/t: {matches: x, age_stamp: atime}", "age_stamp is only valid with age"),
    ],
)
def test_contradictions_are_found_when_the_manifest_is_loaded(tmp_path, entry, words):
    (tmp_path / "site.yaml").write_text(f"resources:\n  - tidy: [{{{entry}}}]\n")
    with pytest.raises(ManifestError) as refused:
        load(str(tmp_path / "site.yaml"))
    assert any(words in each.message for each in refused.value.diagnostics)


def nest(top: Path, levels: int) -> Path:
    """Nest directories deeper than a path can be long."""
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 200, dir_fd=here)
        here, above = os.open("d" * 200, os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)
    return top


@pytest.mark.parametrize("noop", [True, False])
async def test_a_directory_that_can_not_be_removed_is_a_failure_and_the_rest_goes(tmp_path, noop):
    for name in ("bound", "z"):
        (tmp_path / name).mkdir()
        age(tmp_path / name, 40)
    resource = tidy(tmp_path, recurse=True, rmdirs=True)
    try:
        with immutable(tmp_path / "bound"):
            _, story = await converge_once(resource, options=RunOptions(noop=noop))
    except subprocess.CalledProcessError:
        pytest.skip("may not set flags here")
    check = story.checks(resource.ref)[-1]
    assert (check.result, check.actions) == (Result.FAILED, ())
    assert f"cannot remove {tmp_path}/bound" in check.error
    assert "chattr -ia" in check.hint
    assert names(tmp_path) == ({"bound", "z"} if noop else {"bound"})


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
async def test_a_user_who_nests_directories_too_deep_does_not_keep_the_rest(tmp_path):
    os.chown(nest(tmp_path / "theirs", 30), STRANGER, STRANGER)
    put(tmp_path / "a", 40)
    put(tmp_path / "z/b", 40)
    for _ in range(2):
        assert await swept(tidy(tmp_path, recurse=True, age="2d", rmdirs=True)) == [Result.FAILED]
        assert not (tmp_path / "a").exists()
        assert not (tmp_path / "z/b").exists()
    assert (tmp_path / "theirs").exists()


async def test_what_a_failed_check_was_to_look_at_is_looked_at_by_the_next(tmp_path, monkeypatch):
    resource = tidy(tmp_path)
    changed, *_ = [each.below for each in resource.watches() if isinstance(each, PathWatch)]
    await resource.observe()
    changed.add(str(put(tmp_path / "old", 40)))
    with monkeypatch.context() as patched:
        patched.setattr(Sweep, "look", refuse)
        with pytest.raises(ResourceError):
            await resource.observe()
    changed.add(str(put(tmp_path / "new")))
    found = await resource.observe()
    assert [os.path.basename(each.path) for each in found.due] == ["old"]


async def refuse(*_):
    raise ResourceError("can't be read now")
