"""Temporary files that a killed run left behind."""

import fcntl
import os
import struct
import threading
from pathlib import Path

import pytest
import trio
from file_worlds import converge, look, make, names_in

from reactor.hostfs import Attributes, Inline, write_file
from reactor.hostfs.temp_files import is_stale_temporary, temporary_name
from reactor.resource.plan import ResourceError


def leave(path: Path, base: str) -> Path:
    name = path / temporary_name(base)
    name.write_text("half a fi")
    name.chmod(0o600)
    return name


@pytest.mark.parametrize("base", ["f", "a.b", "ü" * 120])
async def test_what_a_killed_run_left_is_removed(tmp_path: Path, base: str):
    leave(tmp_path, base)
    leave(tmp_path, base)
    file = make(tmp_path / base, content="x")
    assert await converge(file) == ["removed 2 temporary files of an interrupted run", "created the file"]
    assert names_in(tmp_path) == [base]


async def test_it_is_removed_also_where_all_else_is_as_desired(tmp_path: Path):
    (tmp_path / "f").write_text("x")
    (tmp_path / "f").chmod(0o644)
    leave(tmp_path, "f")
    assert await converge(make(tmp_path / "f", content="x")) == [
        "removed a temporary file of an interrupted run"
    ]
    assert names_in(tmp_path) == ["f"]


async def test_it_is_removed_also_where_the_file_is_to_go(tmp_path: Path):
    leave(tmp_path, "f")
    await converge(make(tmp_path / "f", ensure="absent"))
    assert names_in(tmp_path) == []


async def test_a_temporary_file_in_use_stays(tmp_path: Path):
    alive = leave(tmp_path, "f")
    with alive.open() as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        assert await converge(make(tmp_path / "f", content="x")) == ["created the file"]
        assert alive.exists()


async def test_what_only_looks_like_it_stays(tmp_path: Path):
    names = [".f.reactor", ".f.0123456789ab.reactor~", ".f.0123456789AB.reactor", "f.0123456789ab.reactor"]
    names.append(".other.0123456789ab.reactor")
    for name in names:
        (tmp_path / name).write_text("x")
    (tmp_path / ".f.0123456789ab.reactor").mkdir()
    (tmp_path / ".f.0123456789ac.reactor").symlink_to("nowhere")
    assert await converge(make(tmp_path / "f", content="x")) == ["created the file"]
    assert len(names_in(tmp_path)) == len(names) + 3


async def test_another_users_file_stays(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("gives a file away")
    os.chown(leave(tmp_path, "f"), 4321, 4321)
    assert await look(make(tmp_path / "f", ensure="absent")) == ()
    theirs = make(tmp_path / "f", content="x", owner="4321", group="4321")
    assert len(await look(theirs)) == 2


async def test_a_directory_is_listed_once_in_a_run(tmp_path: Path, monkeypatch):
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    for name in "abc":
        await converge(make(tmp_path / name, content="x"))
        await look(make(tmp_path / name, content="x"))
    assert listed == [str(tmp_path)]


def test_every_run_looks_again(tmp_path: Path):
    for _ in range(2):
        leave(tmp_path, "f")
        trio.run(converge, make(tmp_path / "f", content="x"))
        assert names_in(tmp_path) == ["f"]


async def test_litter_that_goes_by_itself_is_forgotten(tmp_path: Path):
    left = leave(tmp_path, "f")
    file = make(tmp_path / "f", content="x")
    assert len(await look(file)) == 2
    left.unlink()
    assert len(await look(file)) == 1


@pytest.mark.parametrize("base", ["f.conf", "f", ".conf", "a.b.c", "ü" * 120 + ".conf", "f." + "x" * 220])
async def test_what_a_killed_validation_left_is_removed_with_all_else(tmp_path: Path, base: str):
    for same_suffix in (True, False):
        (tmp_path / temporary_name(base, same_suffix=same_suffix)).write_text("half a fi")
    neighbour = tmp_path / ".other.0123456789ab.reactor.conf"
    neighbour.write_text("x")
    did = await converge(make(tmp_path / base, content="x"))
    assert did == ["removed 2 temporary files of an interrupted run", "created the file"]
    assert names_in(tmp_path) == sorted([base, neighbour.name])


def test_only_a_validator_gets_a_temporary_file_that_ends_like_the_target():
    """Programs that read every ``*.conf`` of a directory must not find half of one."""
    assert temporary_name("app.conf").endswith(".reactor")
    assert temporary_name("app.conf", same_suffix=True).endswith(".reactor.conf")


_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602  # ioctl_iflags(2), of a long
_APPEND_ONLY = 0x20


def set_append_only(directory: Path, *, on: bool) -> None:
    """As chattr(1) does with ``+a`` and ``-a``. Raises OSError where that can't be."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        (flags,) = struct.unpack("l", fcntl.ioctl(fd, _GET_FLAGS, bytes(8)))
        wanted = flags | _APPEND_ONLY if on else flags & ~_APPEND_ONLY
        fcntl.ioctl(fd, _SET_FLAGS, struct.pack("l", wanted))
    finally:
        os.close(fd)


@pytest.fixture
def append_only(tmp_path: Path):
    place = tmp_path / "log"
    place.mkdir()
    try:
        set_append_only(place, on=True)
    except OSError:
        pytest.skip("may not set flags of a directory here")
    yield place
    set_append_only(place, on=False)


async def test_where_nothing_can_be_removed_one_attempt_leaves_something_and_no_other_does(append_only: Path):
    file = make(append_only / "f", content="x")
    for _ in range(3):
        with pytest.raises(ResourceError) as caught:
            await converge(file)
        assert caught.value.message == f"cannot write {append_only}/f: Operation not permitted"
        assert "chattr -ia" in caught.value.hint
        assert len(names_in(append_only)) == 1
    set_append_only(append_only, on=False)
    await converge(file)
    assert names_in(append_only) == ["f"]


async def test_what_a_validator_says_is_reported_also_where_nothing_can_be_removed(append_only: Path):
    file = make(append_only / "f", content="x", validate="test ! -e {path}")
    with pytest.raises(ResourceError, match="validate: exit code 1"):
        await converge(file)


class Judging(Inline):
    """Content that asks, while it is written, whether others take the temporary file for litter."""

    def __init__(self, text: str, directory: Path) -> None:
        super().__init__(text)
        self.directory = directory
        self.found: list[bool] = []

    def judge(self) -> None:
        """Whether each temporary file in the directory is litter to others."""
        self.found += [
            is_stale_temporary(str(path), os.geteuid()) for path in self.directory.glob(".f.*.reactor*")
        ]

    async def copy_to(self, fd: int) -> None:
        self.judge()
        await super().copy_to(fd)
        self.judge()

    def write_now(self, fd: int) -> None:
        self.judge()
        super().write_now(fd)
        self.judge()

    async def approve(self, candidate: str, path: str) -> None:
        """As a validator is asked: the file is finished, and not in place."""
        self.judge()


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("is_validated", [False, True])
async def test_a_temporary_file_is_held_as_long_as_it_is_written_and_judged(
    tmp_path: Path, is_validated: bool
):
    content = Judging("new", tmp_path)
    mine = Attributes(os.geteuid(), os.getegid(), 0o644)
    await write_file(str(tmp_path / "f"), content, mine, content if is_validated else None)
    assert content.found == [False] * (3 if is_validated else 2)
    assert names_in(tmp_path) == ["f"]


@pytest.mark.usefixtures("on_disk")
async def test_a_temporary_file_is_held_without_a_gap_when_its_descriptor_is_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    content = Judging("new", tmp_path)
    close, is_judging = os.close, threading.Lock()

    def close_and_judge(fd: int) -> None:
        close(fd)
        if is_judging.acquire(blocking=False):  # to judge closes a descriptor, too
            content.judge()
            is_judging.release()

    monkeypatch.setattr(os, "close", close_and_judge)
    mine = Attributes(os.geteuid(), os.getegid(), 0o644)
    await write_file(str(tmp_path / "f"), content, mine, content)
    assert len(content.found) > 3
    assert not any(content.found)
