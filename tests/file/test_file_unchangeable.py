"""Files and directories that are immutable or append-only, as chattr(1) makes them: a dry run fails as the run does."""

from __future__ import annotations

import fcntl
import os
import struct

import pytest
from file_worlds import make

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.testing.story import converge_once

_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602  # ioctl_iflags(2), of a long
FLAGS = {"immutable": 0x10, "append-only": 0x20}


def set_flag(path, flag, *, on):
    fd = os.open(path, os.O_RDONLY)
    try:
        (flags,) = struct.unpack("l", fcntl.ioctl(fd, _GET_FLAGS, bytes(8)))
        fcntl.ioctl(fd, _SET_FLAGS, struct.pack("l", flags | flag if on else flags & ~flag))
    finally:
        os.close(fd)


async def results(resource):
    """What a dry run says, and what becomes of the run."""
    found = []
    for noop in (True, False):
        _, story = await converge_once(resource, options=RunOptions(noop=noop))
        found.append((story.checks(resource.ref)[0].result, story.checks(resource.ref)[0].error))
    return found


@pytest.fixture(params=FLAGS)
def marked(request, tmp_path):
    """What marks a path, until the test has ended."""
    marked = []

    def mark(path):
        try:
            set_flag(path, FLAGS[request.param], on=True)
        except OSError:
            pytest.skip("may not set flags here")
        marked.append(path)

    yield mark
    for path in marked:
        set_flag(path, FLAGS[request.param], on=False)


CHANGES = {
    "content": {"content": "new", "mode": "0600"},
    "mode": {"content": "old", "mode": "0644"},
    "mode alone": {"mode": "0644"},
    "removal": {"ensure": "absent"},
}


@pytest.mark.parametrize("change", CHANGES)
async def test_what_is_marked_itself_is_known_not_to_be_changed(tmp_path, marked, change):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o600)
    marked(path)
    would, did = await results(make(path, **CHANGES[change]))
    assert would == did
    assert did[0] is Result.FAILED


@pytest.mark.parametrize("change", ["new", "content", "removal"])
async def test_nothing_in_a_marked_directory_is_replaced(tmp_path, marked, change):
    directory = tmp_path / "d"
    directory.mkdir()
    if change != "new":
        (directory / "f").write_text("old")
    marked(directory)
    would, did = await results(make(directory / "f", **CHANGES.get(change, {"content": "new"})))
    assert would == did
    assert did[0] is Result.FAILED


async def test_attributes_in_a_marked_directory_can_be_set(tmp_path, marked):
    directory = tmp_path / "d"
    directory.mkdir()
    (directory / "f").write_text("old")
    (directory / "f").chmod(0o600)
    marked(directory)
    would, did = await results(make(directory / "f", mode="0644"))
    assert (would[0], did[0]) == (Result.WOULD_CHANGE, Result.CHANGED)


async def test_extended_attributes_in_a_marked_directory_can_be_set(tmp_path, marked):
    directory = tmp_path / "d"
    directory.mkdir()
    (directory / "f").write_text("old")
    (directory / "f").chmod(0o600)
    marked(directory)
    would, did = await results(make(directory / "f", content="old", mode="0600", xattrs={"user.a": "b"}))
    assert (would[0], did[0]) == (Result.WOULD_CHANGE, Result.CHANGED)
