"""The descriptor that reads the events of the kernel, without the watcher."""

import os
import resource

import pytest
from descriptors import open_descriptors

from reactor.watchers.inotify_descriptor import InotifyDescriptor
from reactor.watchers.inotify_masks import MODIFIED, MOVED_FROM, MOVED_TO


@pytest.fixture
async def descriptor():
    opened = InotifyDescriptor()
    yield opened
    opened.close()


@pytest.mark.parametrize("name", ["name", "n" * 250], ids=["short names", "long names"])
async def test_it_says_whether_a_read_may_have_left_events_behind(descriptor, tmp_path, name):
    watched = descriptor.watch(os.fsencode(tmp_path))
    for number in range(1000):
        (tmp_path / f"{name}{number}").touch()
    reads, events = 0, []
    descriptor.has_more = True
    while descriptor.has_more:
        found = descriptor.read()
        events += found
        reads += 1
        assert found
    assert reads > 1
    assert descriptor.read() == []
    assert {wd for wd, *_ in events} == {watched.wd}
    assert {found for *_, found in events} == {f"{name}{number}".encode() for number in range(1000)}


async def test_both_halves_of_a_rename_have_one_cookie(descriptor, tmp_path):
    (tmp_path / "a-long-name").touch()
    descriptor.watch(os.fsencode(tmp_path))
    (tmp_path / "a-long-name").rename(tmp_path / "b")
    first, second = descriptor.read()
    assert (first[1], first[3]) == (MOVED_FROM, b"a-long-name")
    assert (second[1], second[3]) == (MOVED_TO, b"b")
    assert first[2] == second[2] != 0
    assert not descriptor.has_more


async def test_events_end_with_the_last_who_holds_the_watch(descriptor, tmp_path):
    file = tmp_path / "file"
    file.touch()
    first, second = (descriptor.watch(os.fsencode(file), only_directory=False) for _ in range(2))
    assert first.wd == second.wd
    descriptor.unwatch(first)
    os.truncate(file, 10)
    assert (first.wd, MODIFIED, 0, b"") in descriptor.read()
    descriptor.unwatch(second)
    descriptor.read()
    os.truncate(file, 20)
    assert descriptor.read() == []


@pytest.mark.parametrize("only_names", [False, True])
async def test_a_file_is_no_directory_and_is_refused_where_one_is_wanted(descriptor, tmp_path, only_names):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        descriptor.watch(os.fsencode(tmp_path / "file"), only_names=only_names)


async def test_only_names_are_reported_where_only_these_matter(descriptor, tmp_path):
    (tmp_path / "file").touch()
    descriptor.watch(os.fsencode(tmp_path), only_names=True)
    (tmp_path / "file").write_text("x")
    assert descriptor.read() == []
    (tmp_path / "file").unlink()
    assert [name for *_, name in descriptor.read()] == [b"file"]


@pytest.mark.parametrize("spare", range(3))
def test_at_the_limit_of_open_files_it_names_that_limit_and_leaves_nothing_open(spare):
    before, found = open_descriptors(), resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.open("/", os.O_PATH) for _ in range(spare + 1)]
    for number in free:
        os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[spare], found[1]))
    try:
        with pytest.raises(OSError, match="ulimit -n"):
            InotifyDescriptor()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, found)
    assert not open_descriptors() - before
