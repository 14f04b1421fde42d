"""Which directory is opened for a path, also while its owner puts symlinks in the way."""

import ctypes
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import trio
from file_worlds import make
from one_shot import checked

from reactor import hostfs
from reactor.engine.events import Result
from reactor.hostfs import Attributes
from reactor.hostfs.content import Inline
from reactor.hostfs.safe_open import open_directory
from reactor.resource.plan import ResourceError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives symlinks away")
STRANGER = 1234
ATTRIBUTES = Attributes(STRANGER, STRANGER, 0o644)


def reached(path: Path) -> tuple[int, int]:
    fd = open_directory(str(path))
    try:
        found = os.fstat(fd)
        return found.st_dev, found.st_ino
    finally:
        os.close(fd)


def identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def symlink_of(owner: int, at: Path, target: str | Path) -> None:
    at.symlink_to(target)
    os.lchown(at, owner, owner)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory of a stranger's, beside one of root's with a file in it."""
    (tmp_path / "roots").mkdir()
    (tmp_path / "roots" / "f").write_text("root's")
    (tmp_path / "roots" / "empty").mkdir()
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", STRANGER, STRANGER)
    return tmp_path / "home"


@pytest.mark.parametrize("target", ["../a/b", "../a/./b/", "/{}/a/b", "../link/../a/b", "../chain"])
def test_symlinks_of_our_own_are_followed_wherever_they_lead(tmp_path: Path, target: str):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "chain").symlink_to("link/b")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "to").symlink_to(target.format(str(tmp_path)[1:]))
    assert reached(tmp_path / "x" / "to") == identity(tmp_path / "a" / "b")


def test_symlinks_in_a_circle_are_an_error_and_no_hang(tmp_path: Path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        open_directory(str(tmp_path / "one"))


@needs_root
def test_a_symlink_of_the_user_who_owns_the_directory_is_followed(home: Path):
    (home / "releases").mkdir()
    os.chown(home / "releases", STRANGER, STRANGER)
    symlink_of(STRANGER, home / "current", "releases")
    assert reached(home / "current") == identity(home / "releases")


@needs_root
async def test_a_symlink_of_a_stranger_into_a_directory_of_root_is_refused(home: Path):
    """As with ~/.ssh that leads to /root/.ssh."""
    symlink_of(STRANGER, home / "trap", "../roots")
    for attempt in (
        hostfs.write_file(f"{home}/trap/f", Inline("x"), ATTRIBUTES),
        hostfs.write_file(f"{home}/trap/new", Inline("x"), ATTRIBUTES),
        hostfs.set_attributes(f"{home}/trap/f", ATTRIBUTES),
        hostfs.remove_path(f"{home}/trap/f", recursive=False),
        hostfs.remove_path(f"{home}/trap/empty", recursive=True),
        hostfs.create_directory(f"{home}/trap/directory", ATTRIBUTES),
        hostfs.create_directory(f"{home}/trap/missing/directory", ATTRIBUTES),
    ):
        with pytest.raises(
            ResourceError, match=f"trap leads through a symlink of {STRANGER} into a directory of root"
        ):
            await attempt
    assert sorted(os.listdir(home.parent / "roots")) == ["empty", "f"]
    assert (home.parent / "roots" / "f").read_text() == "root's"
    assert (home.parent / "roots" / "f").owner() == "root"


@needs_root
async def test_a_directory_that_its_owner_swaps_all_the_time_leads_no_one_astray(home: Path):
    (home / "d").mkdir()
    os.chown(home / "d", STRANGER, STRANGER)
    symlink_of(STRANGER, home / "swap", "../roots")
    libc, over = ctypes.CDLL(None), threading.Event()
    one, other = (os.fsencode(home / name) for name in ("d", "swap"))

    def swap() -> None:
        while not over.is_set():
            libc.renameat2(-100, one, -100, other, 2)  # RENAME_EXCHANGE

    attacker = threading.Thread(target=swap)
    attacker.start()
    outcomes = Counter()
    try:
        with trio.fail_after(60):
            # On a busy machine, the other thread may come late.
            while outcomes.total() < 300 or len(outcomes) < 2:
                try:
                    await hostfs.write_file(f"{home}/d/{outcomes.total()}", Inline("x"), ATTRIBUTES)
                    outcomes["written"] += 1
                except ResourceError:
                    outcomes["refused"] += 1
    finally:
        over.set()
        attacker.join()
    assert set(outcomes) == {"written", "refused"}
    assert sorted(os.listdir(home.parent / "roots")) == ["empty", "f"]


@needs_root
@pytest.mark.parametrize("noop", [False, True])
async def test_a_file_in_a_directory_that_is_not_what_it_seems_fails_with_a_way_to_repair_it(
    home: Path, noop: bool
):
    symlink_of(STRANGER, home / "trap", "../roots")
    file = make(home / "trap" / "g", content="x", owner="root", group="root")
    check = await checked(file, noop=noop)
    assert check.result is Result.FAILED
    assert "chown -h root" in check.hint
    assert not (home.parent / "roots" / "g").exists()


@needs_root
async def test_a_file_that_is_to_be_absent_where_a_stranger_leads_is_not_said_to_be(home: Path):
    symlink_of(STRANGER, home / "trap", "../roots")
    with pytest.raises(ResourceError, match="leads through a symlink"):
        await make(home / "trap" / "g", ensure="absent").observe()


AS_STRANGER = """
import os, sys, trio
sys.path.insert(0, {tests!r})
from file_worlds import converge, make
file = make({path!r}, content="new", mode="0640", owner="{id}", group="{id}")
os.setgroups([]); os.setgid({id}); os.setuid({id})
trio.run(converge, file)
os.chmod({path!r}, 0o600)
trio.run(converge, file)
"""


@needs_root
def test_a_directory_that_may_be_entered_and_not_read_is_no_obstacle(open_tmp_path: Path):
    """As /home often is, and where things may be dropped."""
    (open_tmp_path / "drop").mkdir()
    (open_tmp_path / "drop").chmod(0o733)
    path = open_tmp_path / "drop" / "f"
    program = AS_STRANGER.format(tests=str(Path(__file__).parent), id=STRANGER, path=str(path))
    subprocess.run([sys.executable, "-c", program], check=True)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
