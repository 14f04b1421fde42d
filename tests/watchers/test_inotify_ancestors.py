"""What happens above a watched path: directories that are missing, vanish, are replaced, or are symlinks."""

import shutil
from pathlib import Path

import pytest
from trio.testing import wait_all_tasks_blocked
from watch_recorder import Recorder, Watching

from reactor.resource.watch import PathWatch
from reactor.watchers.inotify import SETTLE


@pytest.fixture
async def deep(watch: Watching, tmp_path: Path) -> Path:
    """A watched file below four directories of its own, vertex 0."""
    path = tmp_path / "a" / "b" / "c" / "d" / "file"
    path.parent.mkdir(parents=True)
    path.write_text("good")
    await watch.arm(path)
    return path


async def assert_heard(path: Path, sink: Recorder, vertex: int = 0) -> None:
    """The watch is on what is at the path now."""
    await wait_all_tasks_blocked(0.001)
    sink.marks.clear()
    path.write_text("changed")
    await sink.until(lambda: (vertex, 0.0) in sink.marks)


async def test_missing_parents_are_awaited_and_the_file_in_them_is_noticed(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    path = tmp_path / "a" / "b" / "c" / "file"
    await watch.arm(path)
    (tmp_path / "a").mkdir()
    await sink.next_marks(0)
    path.parent.mkdir(parents=True)
    await sink.next_marks(0)
    await assert_heard(path, sink)


async def test_a_file_made_together_with_its_parents_is_marked(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    path = tmp_path / "a" / "b" / "c" / "file"
    await watch.arm(path)
    path.parent.mkdir(parents=True)
    path.write_text("before the new directories were watched")
    await sink.next_marks(0)
    await assert_heard(path, sink)


async def test_a_parent_that_is_a_file_for_a_while_is_awaited(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    parent = tmp_path / "parent"
    parent.write_text("not a directory")
    await watch.arm(parent / "file")
    parent.unlink()
    parent.mkdir()
    await sink.next_marks(0)
    await assert_heard(parent / "file", sink)
    assert not sink.reports


@pytest.mark.parametrize("level", range(4))
async def test_an_ancestor_deleted_and_made_again_is_noticed(deep: Path, sink: Recorder, level: int):
    shutil.rmtree(deep.parents[level])
    await sink.next_marks(0)
    deep.parent.mkdir(parents=True)
    await sink.next_marks(0)
    await assert_heard(deep, sink)


@pytest.mark.parametrize("level", range(4))
async def test_an_ancestor_renamed_away_with_an_impostor_in_its_place_is_noticed(
    deep: Path, sink: Recorder, level: int
):
    ancestor = deep.parents[level]
    away = ancestor.with_name("away")
    ancestor.rename(away)
    deep.parent.mkdir(parents=True)
    deep.write_text("impostor")
    await sink.next_marks(0)
    await assert_heard(deep, sink)
    sink.marks.clear()
    (away / deep.relative_to(ancestor)).write_text("no longer ours")
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks


async def test_an_ancestor_exchanged_for_a_prepared_one_is_noticed(
    deep: Path, sink: Recorder, tmp_path: Path
):
    prepared = tmp_path / "prepared"
    shutil.copytree(deep.parents[2], prepared)
    shutil.rmtree(deep.parents[2])
    prepared.rename(deep.parents[2])
    await sink.next_marks(0)
    await assert_heard(deep, sink)


async def test_an_ancestor_renamed_away_and_back_is_noticed(deep: Path, sink: Recorder):
    away = deep.parents[2].with_name("away")
    deep.parents[2].rename(away)
    away.rename(deep.parents[2])
    await sink.next_marks(0)
    await assert_heard(deep, sink)


async def test_what_is_below_a_vanished_ancestor_is_checked_after_the_time_to_settle(
    deep: Path, sink: Recorder
):
    deep.parents[2].rename(deep.parents[2].with_name("away"))
    await sink.until(lambda: sink.marks)
    assert set(sink.marks) == {(0, SETTLE)}


async def test_a_sibling_of_a_replaced_ancestor_is_not_marked(
    watch: Watching, deep: Path, tmp_path: Path, sink: Recorder
):
    await watch.arm(tmp_path / "sibling" / "file", tmp_path / "file", first=1)
    shutil.rmtree(tmp_path / "a")
    await sink.until(lambda: sink.marks)
    await wait_all_tasks_blocked(0.001)
    assert sink.marked == {0}


@pytest.fixture
async def current(watch: Watching, tmp_path: Path) -> Path:
    """A symlink ``current`` to the first of two releases; the file ``conf`` behind it is vertex 0."""
    for release in ("one", "two"):
        (tmp_path / "releases" / release).mkdir(parents=True)
    current = tmp_path / "current"
    current.symlink_to("releases/one")
    await watch.arm(current / "conf")
    return current


async def test_a_file_behind_a_symlinked_directory_is_noticed(current: Path, sink: Recorder, tmp_path: Path):
    (tmp_path / "releases" / "one" / "conf").write_text("by its real path")
    await sink.next_marks(0)


async def test_a_symlink_pointed_elsewhere_is_followed(current: Path, sink: Recorder, tmp_path: Path):
    new = tmp_path / "new"
    new.symlink_to("releases/two")
    new.replace(current)
    await sink.next_marks(0)
    await assert_heard(tmp_path / "releases" / "two" / "conf", sink)
    sink.marks.clear()
    (tmp_path / "releases" / "one" / "conf").write_text("no longer ours")
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks


async def test_a_symlink_deleted_and_made_again_is_followed(current: Path, sink: Recorder, tmp_path: Path):
    current.unlink()
    await sink.next_marks(0)
    current.symlink_to(tmp_path / "releases" / "two")
    await sink.next_marks(0)
    await assert_heard(tmp_path / "releases" / "two" / "conf", sink)


async def test_a_symlink_replaced_by_a_directory_is_noticed(current: Path, sink: Recorder):
    current.unlink()
    current.mkdir()
    await sink.next_marks(0)
    await assert_heard(current / "conf", sink)


async def test_the_target_of_a_symlink_replaced_is_noticed(current: Path, sink: Recorder, tmp_path: Path):
    one = tmp_path / "releases" / "one"
    one.rename(tmp_path / "away")
    await sink.next_marks(0)
    one.mkdir()
    await sink.next_marks(0)
    await assert_heard(one / "conf", sink)


async def test_the_parent_of_a_symlinks_target_replaced_is_noticed(
    current: Path, sink: Recorder, tmp_path: Path
):
    (tmp_path / "releases").rename(tmp_path / "away")
    (tmp_path / "releases" / "one").mkdir(parents=True)
    await sink.next_marks(0)
    await assert_heard(current / "conf", sink)


async def test_a_dangling_symlink_waits_for_its_target(watch: Watching, tmp_path: Path, sink: Recorder):
    (tmp_path / "link").symlink_to("not/yet/there")
    await watch.arm(tmp_path / "link" / "file")
    (tmp_path / "not" / "yet" / "there").mkdir(parents=True)
    await sink.next_marks(0)
    await assert_heard(tmp_path / "link" / "file", sink)
    assert not sink.reports


async def test_every_hop_of_a_chain_of_symlinks_is_followed(watch: Watching, tmp_path: Path, sink: Recorder):
    for name in ("x", "y"):
        (tmp_path / "store" / name).mkdir(parents=True)
    (tmp_path / "hops").mkdir()
    (tmp_path / "hops" / "second").symlink_to("../store/x")
    (tmp_path / "first").symlink_to("hops/second")
    await watch.arm(tmp_path / "first" / "file")
    (tmp_path / "hops" / "second").unlink()
    (tmp_path / "hops" / "second").symlink_to("../store/y")
    await sink.next_marks(0)
    await assert_heard(tmp_path / "store" / "y" / "file", sink)


async def test_one_directory_by_two_paths_marks_what_is_watched_through_either(
    watch: Watching, current: Path, sink: Recorder, tmp_path: Path
):
    await watch.arm(tmp_path / "releases" / "one" / "conf", first=1)
    (current / "conf").write_text("x")
    await sink.next_marks(0, 1)


async def test_a_circle_of_symlinks_is_polled_and_heals(watch: Watching, tmp_path: Path, sink: Recorder):
    (tmp_path / "a").symlink_to("b/x")
    (tmp_path / "b").symlink_to("a")
    await watch.arm(tmp_path / "a" / "file")
    assert "symbolic links" in sink.reports[0][1]
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    await sink.next_marks(0)
    await assert_heard(tmp_path / "a" / "file", sink)
    assert sink.states == {0: "armed"}


async def test_a_link_to_a_file_above_its_own_directory_is_disarmed_with_both_directories(
    watch: Watching, tmp_path: Path
):
    """The way to the target, ``etc/../usr/name``, goes through the directory of the link."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr/name").touch()
    (tmp_path / "etc/name").symlink_to("../usr/name")
    link = PathWatch(str(tmp_path / "etc/name"))
    before = set(watch.watcher._tree.root.subtree)
    await watch.watcher.arm(link, 5)
    assert set(watch.watcher._tree.root.subtree) > before
    watch.watcher.disarm(link, 5)
    assert {each.path for each in watch.watcher._tree.root.subtree} == {each.path for each in before}


async def test_a_chain_of_thousands_of_symlinks_ends_no_watcher(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    """Anybody may make one where they may write, also in place of a directory that leads to a managed file."""
    for number in range(3000):
        (tmp_path / str(number)).symlink_to(str(number + 1))
    await watch.arm(tmp_path / "0" / "file", tmp_path / "other")
    assert "symbolic links" in sink.reports[0][1]
    await assert_heard(tmp_path / "other", sink, vertex=1)


async def test_a_symlink_with_a_very_long_way_is_polled_and_costs_few_watches(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    """Another user can put 2,000 directories into each; to watch them all takes a second, in which nothing is repaired."""
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to("d/../" * 800 + "d")
    await watch.arm(tmp_path / "link" / "file")
    assert len(list(watch.watcher._tree.root.subtree)) < 100
    assert "symbolic links" in sink.reports[0][1]
    (tmp_path / "new").symlink_to("d")
    (tmp_path / "new").replace(tmp_path / "link")
    await sink.next_marks(0)
    await assert_heard(tmp_path / "d" / "file", sink)
    assert sink.states == {0: "armed"}
