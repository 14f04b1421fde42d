"""Unpacking: what comes out, where, whose it is; and that a bad archive leaves nothing anywhere."""

import os
import re
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from archive_worlds import FILES, ME, make, names_in, packed, sha256, tar_of, tree, unpacked
from one_shot import checked

from reactor.engine.events import Output, Result
from reactor.engine.options import RunOptions
from reactor.resource.plan import ResourceError
from reactor.resources.archive import staging
from reactor.resources.archive.extraction import move_in
from reactor.resources.archive.staging import opened_directory
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

FORMATS = ["tar", "tar.gz", "tar.bz2", "tar.xz", "tar.zst", "zip"]
BODY = packed(FILES, "tar.gz")


MOVE_TO_ANOTHER_FILE_SYSTEM = """
import os, subprocess, sys
from pathlib import Path
from reactor.resource.plan import ResourceError
from reactor.resources.archive.extraction import move_in

root, (_, *mount) = Path(sys.argv[1]), sys.argv[1:]
for directory in ("staged/data", "goal/data", "other"):
    (root / directory).mkdir(parents=True)
for file in ("staged/a", "staged/data/x", "staged/z", "goal/z", "other/x"):
    (root / file).touch()
subprocess.run(["mount", *mount], cwd=root, check=True)
try:
    move_in(str(root / "staged"), str(root / "goal"), os.open(root / "goal", os.O_PATH))
except ResourceError as error:
    print(error.message.replace(str(root), ""))
assert sorted(path.name for path in (root / "staged").rglob("*")) == ["a", "data", "x", "z"]
assert sorted(path.name for path in (root / "goal").iterdir()) == ["data", "z"]
"""


def into(root, **more):
    return {"extract_parent": str(root / "opt"), "creates": str(root / "opt/app/bin/run"), **more}


@pytest.mark.parametrize("form", FORMATS)
async def test_every_format_is_unpacked(server, tmp_path, form):
    server.serve(packed(FILES, form))
    resource = make(tmp_path / f"app.{form}", server.url(name=f"x.{form}"), **into(tmp_path))
    check = await checked(resource)
    assert check.actions == ("downloaded the archive", f"unpacked it into {tmp_path}/opt")
    assert unpacked(tmp_path) == FILES
    assert (await checked(resource)).result is Result.OK
    assert {path.name for path in (tmp_path / "opt").iterdir()} == {"app"}


async def test_noop_says_it_all_and_does_nothing(server, tmp_path):
    server.serve(BODY)
    resource = make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path, cleanup=True))
    _, story = await converge_once(resource, options=RunOptions(noop=True))
    assert story.checks(resource.ref)[0].actions == (
        "Would have downloaded", "Would have extracted", "Would have cleaned up",
    )  # fmt: skip
    assert names_in(tmp_path) == []
    assert server.asked == []


async def test_an_archive_that_is_cleaned_up_does_not_come_back(server, tmp_path):
    server.serve(BODY)
    resource = make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path, cleanup=True))
    assert (await checked(resource)).actions[-1] == "removed the archive after unpacking"
    assert not (tmp_path / "a.tar.gz").exists()
    assert (await checked(resource)).result is Result.OK
    assert len(server.asked) == 1


async def test_what_is_there_already_stays(server, tmp_path):
    (tmp_path / "opt/app").mkdir(parents=True)
    (tmp_path / "opt/app/mine").write_text("mine")
    (tmp_path / "opt/app/README").write_text("an older one")
    (tmp_path / "opt/app").chmod(0o711)
    server.serve(BODY)
    await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path)))
    assert unpacked(tmp_path) == {**FILES, "app/mine": b"mine"}
    assert stat.S_IMODE((tmp_path / "opt/app").stat().st_mode) == 0o711


@pytest.mark.skipif("os.getuid() != 0")
async def test_everything_belongs_to_the_owner(server, tmp_path):
    server.serve(BODY)
    owner = {"owner": "1234", "group": "2345"}
    await checked(make(tmp_path / "a.tar.gz", server.url(), **{**into(tmp_path), **owner}))
    assert {found[1:3] for found in tree(tmp_path).values()} == {(1234, 2345)}


async def test_no_link_that_is_there_is_followed(server, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/app").symlink_to(elsewhere)
    server.serve(BODY)
    check = await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path)))
    assert f"holds the directory {tmp_path}/opt/app, and something else is there" in check.error
    assert names_in(elsewhere) == []
    assert (tmp_path / "opt/app").is_symlink()


@pytest.mark.skipif("os.getuid() != 0")
async def test_a_symlink_of_a_stranger_leads_no_archive_to_where_root_writes(server, tmp_path):
    server.serve(BODY)
    resource = make(tmp_path / "a.tar.gz", server.url(), checksum=sha256(BODY), **into(tmp_path))
    await checked(resource)
    (tmp_path / "opt").rename(tmp_path / "away")
    (tmp_path / "etc").mkdir()
    (tmp_path / "opt").symlink_to(tmp_path / "etc")
    os.lchown(tmp_path / "opt", 12345, 12345)
    check = await checked(resource)
    assert f"{tmp_path}/opt leads through a symlink of 12345 into a directory of root" in check.error
    assert names_in(tmp_path / "etc") == []


async def test_a_link_in_place_of_a_file_is_replaced_and_not_written_through(server, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("as it was")
    (tmp_path / "opt/app").mkdir(parents=True)
    (tmp_path / "opt/app/README").symlink_to(victim)
    server.serve(BODY)
    await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path)))
    assert victim.read_text() == "as it was"
    assert unpacked(tmp_path) == FILES


async def test_a_directory_is_never_replaced_and_then_nothing_is_moved(server, tmp_path):
    (tmp_path / "opt/app/README").mkdir(parents=True)
    server.serve(BODY)
    check = await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path)))
    assert f"holds {tmp_path}/opt/app/README as a file or a link, and a directory is there" in check.error
    assert unpacked(tmp_path) == {}


@pytest.mark.parametrize(
    ("mount", "where"),
    [
        (("-t", "tmpfs", "tmpfs", "goal/data"), "/goal/data"),
        (("--bind", "other", "goal/data"), "/goal/data"),
        (("--bind", "other/x", "goal/z"), "/goal/z"),
    ],
)
def test_where_something_is_mounted_nothing_is_moved(tmp_path, mount, where):
    unshare = ("unshare", "--user", "--map-root-user", "--mount")
    command = [*unshare, sys.executable, "-c", MOVE_TO_ANOTHER_FILE_SYSTEM, str(tmp_path), *mount]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"the archive holds {where}, where another file system is mounted")


@pytest.mark.skipif("os.getuid() != 0")
def test_what_can_not_be_put_in_its_place_is_named(open_tmp_path):
    """As where an immutable file is in the way of root."""
    nobody = 65534
    staged, goal = open_tmp_path / "staged", open_tmp_path / "goal"
    for directory in (staged / "app", goal / "app"):
        directory.mkdir(parents=True)
    (staged / "app/README").touch()
    for path in (staged, staged / "app", staged / "app/README"):
        os.chown(path, nobody, nobody)
    os.seteuid(nobody)
    try:
        with pytest.raises(ResourceError) as caught, opened_directory(str(goal)) as handle:
            move_in(str(staged), str(goal), handle)
    finally:
        os.seteuid(0)
    assert caught.value.message == f"cannot put {goal}/app/README in its place: Permission denied"
    assert caught.value.hint.startswith("run as root")


async def test_a_bad_archive_leaves_nothing_and_stays_pending_until_a_good_one_comes(server, tmp_path):
    link = tarfile.TarInfo("app/link")
    link.type, link.linkname = tarfile.SYMTYPE, "../../../etc"
    server.serve(tar_of({**FILES, "l": link}))
    (tmp_path / "opt").mkdir()
    resource = make(tmp_path / "a.tar.gz", server.url(), extract_parent=str(tmp_path / "opt"))
    for _ in range(2):
        check = await checked(resource)
        assert "cannot unpack" in check.error
        assert "leads out of its directory, to '../../../etc'" in check.error
        assert unpacked(tmp_path) == {}
    server.serve(BODY)
    assert (await checked(resource)).result is Result.CHANGED
    assert unpacked(tmp_path) == FILES
    assert {path.name for path in (tmp_path / "opt").iterdir()} == {"app"}


async def test_an_archive_that_a_server_cuts_short_unsaid_is_fetched_again(server, tmp_path):
    server.serve(BODY)
    server.cuts = 1
    resource = make(tmp_path / "a.tar.gz", server.url("unmeasured"), **into(tmp_path))
    assert "cannot unpack" in (await checked(resource)).error
    assert (await checked(resource)).result is Result.CHANGED
    assert unpacked(tmp_path) == FILES


async def test_what_is_no_archive_is_named(server, tmp_path):
    server.serve(b"<html>please log in</html>" * 100)
    check = await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path)))
    assert "not a usable tar.gz archive" in check.error
    assert check.hint == "the file is a web page or a message of the server"


async def test_the_limits_of_the_manifest_hold(server, tmp_path):
    bomb = packed({"zeros": bytes(65 << 20)}, "tar.gz")
    for body, limit, message in (
        (BODY, {"max_members": 2}, "more than 2 members"),
        (BODY, {"max_unpacked": "1k"}, "more than 1 KiB"),
        (bomb, {"max_ratio": 1}, "more than 1 times its size"),
    ):
        server.serve(body)
        check = await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path, **limit)))
        assert message in check.error
        assert check.hint == f"if you trust it, raise {next(iter(limit))}"
        assert unpacked(tmp_path) == {}


async def test_what_is_no_directory_to_unpack_into_is_named_before_anything_is_fetched(server, tmp_path):
    server.serve(BODY)
    (tmp_path / "opt").write_text("a file")
    check = await checked(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path)))
    assert check.error == f"{tmp_path}/opt is not a directory"
    assert server.asked == []


async def test_a_creates_that_never_comes_is_named(server, tmp_path):
    server.serve(BODY)
    check = await checked(
        make(tmp_path / "a.tar.gz", server.url(), extract_parent=str(tmp_path / "opt"), creates="/nowhere/x")
    )
    assert "/nowhere/x is still missing" in check.error


async def test_with_a_checksum_no_one_is_asked_to_restore_what_was_deleted(server, tmp_path):
    server.serve(BODY)
    resource = make(tmp_path / "a.tar.gz", server.url(), checksum=sha256(BODY), **into(tmp_path))
    async with running(resource) as story:
        await story.converged()
        (tmp_path / "opt/app/bin/run").unlink()
        await story.until((tmp_path / "opt/app/bin/run").exists)
        await story.rest()
        assert len(server.asked) == 1
        (tmp_path / "a.tar.gz").unlink()
        await story.until((tmp_path / "a.tar.gz").exists)
        await story.rest()
    assert len(server.asked) == 2
    assert story.checks(resource.ref)[-1].result in (Result.OK, Result.CHANGED)


async def test_a_long_unpacking_says_how_far_it_is(server, tmp_path, monkeypatch):
    monkeypatch.setattr("reactor.resources.download.fetching._INTERVAL", 0.0)
    server.serve(BODY)
    _, story = await converge_once(make(tmp_path / "a.tar.gz", server.url(), **into(tmp_path)))
    lines = [event.line for event in story.all(Output)]
    assert lines[-1].startswith("unpacked 4.9")
    assert re.fullmatch(r".*, [1-9][0-9]* members", lines[-1])


async def test_a_timeout_of_the_check_ends_the_unpacking_and_leaves_nothing(server, tmp_path):
    server.serve(packed({"app/big": bytes(60 << 20), **FILES}, "tar.gz"))
    resource = make(tmp_path / "a.tar.gz", server.url(), meta={"timeout": "15ms"}, **into(tmp_path))
    check = await checked(resource)
    assert "longer than its timeout" in check.error
    assert not (tmp_path / "opt/app").exists()


PEAK_MEMORY = r"""
import re, sys, trio
from reactor.testing.story import converge_once
from reactor.resources.archive import Archive

path, url, owner, into = sys.argv[1:]
async def main():
    archive = Archive(name=path, ensure="present", url=url, owner=owner, group=owner, extract_parent=into, timeout="60s")
    _, story = await converge_once(archive)
    check = story.checks(archive.ref)[-1]
    assert check.error is None, check.error
trio.run(main)
print(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.parametrize("form", ["tar.gz", "tar.xz", "zip"])
def test_memory_stays_flat_whatever_the_size(server, tmp_path, form):
    """One file of 16 MiB, as one of 1 MiB: `benchmarks/archive.py` does the same with 1 GB."""
    peaks = []
    for blocks in (1, 16):
        directory = tmp_path / str(blocks)
        directory.mkdir()
        body = packed({"app/f": os.urandom(65536) * 16 * blocks}, form)
        server.serve(body)
        done = subprocess.run(
            [sys.executable, "-c", PEAK_MEMORY, directory / f"a.{form}", server.url(name=f"a.{form}"), ME["owner"], directory],
            capture_output=True, check=True, text=True,
        )  # fmt: skip
        assert (directory / "app/f").stat().st_size == blocks << 20
        peaks.append(int(done.stdout) // 1024)
    assert peaks[1] < 120
    assert peaks[1] - peaks[0] < 10


def archive_alone(root, server):
    path = root / "world/app.tar.gz"
    return Case(lambda: make(path, server.url()), lambda: tree(root / "world"), path.unlink)


def archive_with_checksum(root, server):
    path = root / "world/app.tar.gz"
    return Case(
        lambda: make(path, server.url(), checksum=sha256(BODY)),
        lambda: tree(root / "world"),
        lambda: path.write_text("vandal"),
    )


def archive_unpacked(root, server):
    world = root / "world"
    return Case(
        lambda: make(world / "app.tar.gz", server.url(), **into(world)),
        lambda: tree(world),
        (world / "opt/app/bin/run").unlink,
    )


def archive_cleaned_up(root, server):
    world = root / "world"
    return Case(
        lambda: make(world / "app.tar.gz", server.url(), **into(world, cleanup=True)),
        lambda: tree(world),
        (world / "opt/app/bin/run").unlink,
    )


def absent_archive(root, server):
    path = root / "world/app.tar.gz"
    path.write_text("x")
    return Case(
        lambda: make(path, server.url(), ensure="absent"),
        lambda: tree(root / "world"),
        lambda: path.write_text("x"),
    )


CASES = [archive_alone, archive_with_checksum, archive_unpacked, archive_cleaned_up, absent_archive]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_archives_keep_the_contract(promise, case, tmp_path, server):
    (tmp_path / "world").mkdir()
    server.serve(BODY)
    await promise(case(tmp_path, server))


def test_a_symlink_in_the_place_of_the_staging_directory_leads_nothing_out(tmp_path):
    ours, away, theirs = tmp_path / "ours", tmp_path / "away", tmp_path / "theirs"
    ours.mkdir()
    (theirs / "tree").mkdir(parents=True)
    (theirs / "tree/keep").touch()
    with opened_directory(str(tmp_path)) as parent, staging.staged(str(ours), parent) as (into, _):
        ours.rename(away)
        ours.symlink_to(theirs)
        Path(into, "member").touch()
        assert names_in(theirs / "tree") == ["keep"]
        assert names_in(away / "tree") == ["member"]
    assert names_in(theirs / "tree") == ["keep"]
    assert names_in(away) == []


def test_a_staging_directory_of_another_user_is_refused(tmp_path):
    os.chown(tmp_path, 12345, 12345)
    with (
        opened_directory(str(tmp_path.parent)) as parent,
        pytest.raises(ResourceError, match="reactor did not create it"),
        staging.staged(str(tmp_path), parent),
    ):
        pass
    assert names_in(tmp_path) == []
