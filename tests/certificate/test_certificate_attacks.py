"""Keys stay secret and pairs stay whole: on full disks, in unchangeable directories, and against other users."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from fixed_paths import immutable

from reactor import ResourceError
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.backup_store import state_directory_for
from reactor.resources.certificate import Certificate
from reactor.testing.story import converge_once

HOST = "app.example.com"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts, and acts as another user")


def tree(root):
    """Every file below a directory with its mode and content, and where every symlink leads."""
    return {
        str(path.relative_to(root)): os.readlink(path)
        if path.is_symlink()
        else (path.stat().st_mode & 0o7777, path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def refuse_readable_keys(root):
    """Fail if another user could read a key below a directory."""
    for name, found in tree(root).items():
        if isinstance(found, tuple) and b"PRIVATE KEY" in found[1]:
            assert found[0] & 0o077 == 0, name


async def converge(pair, *, noop=False, **properties):
    resource = Certificate(**{"name": str(pair), "names": [HOST], **properties})
    _, story = await converge_once(resource, options=RunOptions(noop=noop))
    return story.result(resource.ref), repr(story.events)


@pytest.fixture
def pair(tmp_path):
    return tmp_path / "app"


@contextmanager
def small_disk(point, inodes):
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=0755,nr_inodes={inodes}", "none", point], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", point], check=True)


@pytest.mark.parametrize("free", [0, 1, 2, 4, 5, 6])
async def test_a_full_disk_leaves_the_former_pair(tmp_path, free):
    disk = tmp_path / "disk"
    with small_disk(disk, 100):
        assert (await converge(disk / "app"))[0] is Result.CHANGED
        before = tree(disk)
        used = 100 - os.statvfs(disk).f_ffree
        subprocess.run(["mount", "-o", f"remount,nr_inodes={used + free}", disk], check=True)
        assert (await converge(disk / "app", names=["new.example.com"]))[0] is Result.FAILED
        refuse_readable_keys(disk)
        now = tree(disk)
        assert {name: now.get(name) for name in before} == before
        subprocess.run(["mount", "-o", "remount,nr_inodes=200", disk], check=True)
        assert (await converge(disk / "app", names=["new.example.com"]))[0] is Result.CHANGED
        assert len([name for name in os.listdir(disk / "app") if name.startswith("pair-")]) == 1


@pytest.mark.parametrize("part", ["directory", "generation"])
@pytest.mark.parametrize("wanted", [{"names": ["new.example.com"]}, {"ensure": "absent"}])
async def test_a_dry_run_says_that_an_immutable_directory_keeps_the_former_pair(pair, part, wanted):
    await converge(pair)
    before = tree(pair)
    with immutable(pair if part == "directory" else (pair / "current").resolve()):
        for noop in (True, False):
            assert (await converge(pair, noop=noop, **wanted))[0] is Result.FAILED
            assert tree(pair) == before or not noop
        if "names" in wanted:
            refuse_readable_keys(pair)
            assert (pair / "combined.pem").read_bytes().startswith((pair / "key.pem").read_bytes())
            assert part == "generation" or tree(pair) == before
    assert (await converge(pair, **wanted))[0] is Result.CHANGED
    left = os.listdir(pair) if pair.exists() else []
    assert len([name for name in left if name.startswith("pair-")]) == ("names" in wanted)


@pytest.mark.parametrize("ensure", ["present", "absent"])
async def test_no_key_is_in_an_event_the_journal_or_a_backup(pair, tmp_path, ensure):
    state = tmp_path / "state"
    seen, secrets = "", set()

    def note():
        secrets.update(line for line in (pair / "key.pem").read_text().splitlines() if "-" not in line)

    with state_directory_for(str(state)):
        seen += (await converge(pair))[1]
        note()
        for name in ("key.pem", "combined.pem"):
            text = (pair / name).read_text()
            (pair / name).unlink()
            (pair / name).write_text(text)
        seen += (await converge(pair, noop=True))[1] + (await converge(pair))[1]
        (pair / "current/key.pem").write_text((pair / "key.pem").read_text() + "\n")
        seen += (await converge(pair, names=["new.example.com"]))[1]
        note()
        last = {"ensure": ensure} if ensure == "absent" else {"names": ["other.example.com"]}
        seen += (await converge(pair, noop=True, **last))[1] + (await converge(pair, **last))[1]
    kept = seen.encode() + b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())
    assert secrets
    assert not [line for line in secrets if line.encode() in kept]
    assert b"PRIVATE KEY" not in kept


async def test_no_umask_opens_a_key(pair):
    former = os.umask(0)
    try:
        await converge(pair)
        refuse_readable_keys(pair)
    finally:
        os.umask(former)


@contextmanager
def place_for_all():
    """A directory that every user can enter."""
    with tempfile.TemporaryDirectory(prefix="certificate-") as root:
        os.chmod(root, 0o755)
        yield Path(root)


async def test_a_directory_that_another_user_made_in_the_meantime_gets_no_key():
    with place_for_all() as root:
        home = root / "home"
        resource = Certificate(name=str(home / "app"), names=[HOST])
        (action,) = resource.plan(await resource.observe(), refresh=False)
        home.mkdir()
        os.chown(home, 65534, 65534)
        with pytest.raises(ResourceError, match="other users may replace"):
            await action.run()
        assert not tree(home)


@pytest.mark.parametrize("part", ["pair", "current", "key"])
async def test_links_of_another_user_lead_nowhere(part):
    """The user had the directory before, and left links in it to what root can write."""
    with place_for_all() as root:
        victim, home = root / "victim", root / "home"
        victim.mkdir()
        (victim / "key.pem").write_text("mine")
        (home / "app").mkdir(parents=True)
        match part:
            case "pair":
                (home / "app/pair-0123456789abcdef").symlink_to(victim)
                (home / "app/current").symlink_to("pair-0123456789abcdef")
            case "current":
                (home / "app/current").symlink_to(victim)
            case "key":
                (home / "app/key.pem").symlink_to(victim / "key.pem")
        for path in (home / "app").iterdir():
            os.lchown(path, 65534, 65534)
        for ensure in ("present", "absent"):
            await converge(home / "app", ensure=ensure)
            assert (victim / "key.pem").read_text() == "mine"
            assert os.listdir(victim) == ["key.pem"]


@pytest.mark.parametrize(
    ("lead", "said"),
    [(False, "at most 16777216 are read"), (True, "another user can change which authority signs")],
)
async def test_the_certificate_of_an_authority_is_an_input_and_read_within_bounds(tmp_path, lead, said):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours.pem"
    theirs.mkdir()
    ours.touch()
    os.truncate(ours, 1 << 40)
    if lead:
        (theirs / "ca.pem").symlink_to(ours)
        os.lchown(theirs / "ca.pem", 12345, 12345)
    ca = theirs / "ca.pem" if lead else ours
    resource = Certificate(
        name=str(tmp_path / "pair"), names=[HOST], ca_certificate=str(ca), ca_key=str(tmp_path / "key")
    )
    os.chown(theirs, 12345, 12345)
    with state_directory_for(str(tmp_path / "state")):
        _, story = await converge_once(resource)
    check = story.checks(resource.ref)[-1]
    assert story.result(resource.ref) is Result.FAILED
    assert said in str(check.error)


async def test_a_directory_of_another_user_is_not_even_listed(pair):
    """It could be full of names, which takes time."""
    pair.mkdir()
    (pair / "theirs").touch()
    os.chown(pair, 12345, 12345)
    for ensure in ("present", "absent"):
        result, events = await converge(pair, ensure=ensure)
        assert (result, "belongs to 12345" in events) == (Result.FAILED, True)
    assert os.listdir(pair) == ["theirs"]
