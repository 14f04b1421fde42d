"""Whole trees: whatever happens in a directory, at any depth, is told with its path."""

import os
import shutil
from pathlib import Path

import namespaced
import pytest
from namespaced import run_namespaced
from trio.testing import wait_all_tasks_blocked
from watch_recorder import Recorder, Watching, open_descriptors, overflow_queue, watch_count

from reactor.resource.watch import ChangedPaths, PathWatch


class Tree:
    """A watched tree: vertex 0."""

    def __init__(self, watch: Watching, root: Path) -> None:
        self.root = root
        self.watch = watch
        self.heard = ChangedPaths()
        self.declared = PathWatch(str(root), self.heard)

    async def arm(self) -> None:
        await self.watch.watcher.arm(self.declared, 0)
        self.heard.take()

    async def told(self) -> frozenset[str] | None:
        """What was heard when nothing more is on its way: names from the root on, None for all of it."""
        await self.watch.sink.next_marks(0)
        paths = self.heard.take()
        return None if paths is None else frozenset(os.path.relpath(path, self.root) for path in paths)

    async def assert_hears(self, name: str) -> None:
        """A write to one file is told as just that."""
        (self.root / name).write_text("anything")
        assert await self.told() == {name}


@pytest.fixture
async def tree(watch: Watching, tmp_path: Path) -> Tree:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "c").mkdir()
    tree = Tree(watch, root)
    await tree.arm()
    return tree


@pytest.mark.parametrize("name", ["f", "a/f", "a/b/f"])
@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text("x"),
        lambda path: path.chmod(0o600),
        lambda path: path.unlink(),
        lambda path: path.rename(path.parents[path.parts[::-1].index("root")] / "away"),
    ],
    ids=["write", "chmod", "delete", "move away"],
)
async def test_a_change_at_any_depth_is_reported_with_its_path(tree: Tree, name: str, change):
    path = tree.root / name
    path.write_text("before")
    await tree.told()
    change(path)
    assert await tree.told() == {name}


async def test_a_directory_itself_is_reported(tree: Tree):
    (tree.root / "a").chmod(0o700)
    assert await tree.told() == {"a"}
    tree.root.chmod(0o700)
    assert await tree.told() == {"."}


async def test_what_is_beside_the_tree_is_not_reported(tree: Tree, sink: Recorder):
    (tree.root.parent / "other").write_text("x")
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks
    assert tree.heard.take() is None


async def test_a_new_subdirectory_is_everything_and_is_noticed_from_then_on(tree: Tree):
    (tree.root / "new" / "deep" / "down").mkdir(parents=True)
    assert await tree.told() is None
    for name in ("new/f", "new/deep/f", "new/deep/down/f"):
        await tree.assert_hears(name)


async def test_a_subdirectory_moved_in_is_noticed_with_all_that_is_below_it(tree: Tree, tmp_path: Path):
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere").rename(tree.root / "a" / "came")
    assert await tree.told() is None
    await tree.assert_hears("a/came/deep/f")


async def test_a_deleted_subdirectory_is_everything_and_its_watch_is_given_back(tree: Tree, watch: Watching):
    before = watch_count(watch)
    shutil.rmtree(tree.root / "a")
    assert await tree.told() is None
    assert watch_count(watch) == before - 2
    (tree.root / "a").mkdir()
    await tree.told()
    await tree.assert_hears("a/f")
    assert watch_count(watch) == before - 1


async def test_a_renamed_subdirectory_is_noticed_under_its_new_name_only(tree: Tree, watch: Watching):
    before = watch_count(watch)
    (tree.root / "a").rename(tree.root / "renamed")
    assert await tree.told() is None
    await tree.assert_hears("renamed/b/f")
    assert watch_count(watch) == before


async def test_a_subdirectory_moved_out_is_noticed_no_longer(tree: Tree, tmp_path: Path, sink: Recorder):
    (tree.root / "a").rename(tmp_path / "out")
    assert await tree.told() is None
    (tmp_path / "out" / "b" / "f").write_text("x")
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks


async def test_a_file_in_the_place_of_a_subdirectory_is_no_directory(tree: Tree):
    shutil.rmtree(tree.root / "a")
    (tree.root / "a").write_text("a file")
    assert await tree.told() is None
    await tree.assert_hears("a")


@pytest.mark.parametrize("level", [0, 1])
async def test_a_root_that_is_replaced_is_everything_and_is_noticed(
    watch: Watching, tmp_path: Path, level: int
):
    root = tmp_path / "above" / "root"
    (root / "old").mkdir(parents=True)
    tree = Tree(watch, root)
    await tree.arm()
    moved = (root, *root.parents)[level]
    moved.rename(tmp_path / "away")
    (root / "new").mkdir(parents=True)
    assert await tree.told() is None
    await tree.assert_hears("new/f")


async def test_a_root_that_comes_late_is_noticed(watch: Watching, tmp_path: Path):
    tree = Tree(watch, tmp_path / "not" / "yet")
    await tree.arm()
    (tree.root / "sub").mkdir(parents=True)
    assert await tree.told() is None
    await tree.assert_hears("sub/f")


async def test_a_root_behind_a_symlink_is_noticed_and_links_in_it_are_not_followed(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "beside").mkdir()
    (tmp_path / "real" / "link").symlink_to(tmp_path / "beside")
    (tmp_path / "root").symlink_to("real")
    tree = Tree(watch, tmp_path / "root")
    await tree.arm()
    await tree.assert_hears("sub/f")
    (tmp_path / "beside" / "f").write_text("x")
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks


async def test_after_an_overflow_all_is_in_doubt_and_new_directories_are_noticed(
    tree: Tree, tmp_path: Path, sink: Recorder
):
    overflow_queue(tmp_path)
    (tree.root / "late" / "deep").mkdir(parents=True)
    await sink.until(lambda: sink.losses)
    assert await tree.told() is None
    await tree.assert_hears("late/deep/f")


async def test_a_thousand_directories_cost_a_watch_each_on_the_one_descriptor(
    watch: Watching, tmp_path: Path
):
    before = open_descriptors()["anon_inode:inotify"]
    tree = Tree(watch, tmp_path / "root")
    for number in range(1000):
        (tree.root / f"{number % 10}" / f"{number}").mkdir(parents=True)
    await tree.arm()
    assert watch_count(watch) == len(tree.root.parts) + 10 + 1000
    assert open_descriptors()["anon_inode:inotify"] == before
    await tree.assert_hears("7/7/f")
    await tree.assert_hears("9/999/f")


async def test_a_tree_that_is_disarmed_gives_its_watches_back_and_leaves_those_of_others(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    await watch.arm(tmp_path / "root" / "a" / "f", first=1)
    (tmp_path / "root" / "a" / "b").mkdir(parents=True)
    await sink.next_marks(1)
    before = watch_count(watch)
    tree = Tree(watch, tmp_path / "root")
    await tree.arm()
    assert watch_count(watch) == before + 1
    watch.watcher.disarm(tree.declared, 0)
    assert watch_count(watch) == before
    (tree.root / "a" / "f").write_text("x")
    await sink.next_marks(1)
    assert tree.heard.take() is None


async def test_two_who_watch_one_tree_notice_both(tree: Tree, sink: Recorder):
    other = Tree(tree.watch, tree.root / "a")
    await tree.watch.watcher.arm(other.declared, 1)
    other.heard.take()
    (tree.root / "a" / "b" / "f").write_text("x")
    await sink.next_marks(0, 1)
    assert tree.heard.take() == other.heard.take() == {str(tree.root / "a" / "b" / "f")}
    tree.watch.watcher.disarm(other.declared, 1)
    await tree.assert_hears("a/b/g")
    assert other.heard.take() is None


def test_a_directory_of_a_tree_for_which_no_watch_is_left_is_polled_until_there_is_one(tmp_path: Path):
    run_namespaced(namespaced.a_tree_out_of_watches_is_polled, tmp_path)


def test_once_a_polled_directory_has_gone_the_tree_is_relied_upon_again(tmp_path: Path):
    run_namespaced(namespaced.a_tree_is_relied_upon_once_what_was_polled_has_gone, tmp_path)


async def test_a_directory_that_is_left_out_is_not_entered(watch: Watching, tmp_path: Path):
    root = tmp_path / "root"
    for directory in (root / ".git", root / "a" / ".git"):
        directory.mkdir(parents=True)
    heard = ChangedPaths()
    declared = PathWatch(str(root), heard, without=frozenset((".git",)))
    before = watch_count(watch)
    await watch.watcher.arm(declared, 0)
    entered = watch_count(watch) - before
    heard.take()
    (root / "a" / ".git" / "index").write_text("x")
    (root / ".git" / "deep").mkdir()
    (root / ".git" / "deep" / "file").write_text("x")
    (root / "a" / "f").write_text("x")
    await watch.sink.next_marks(0)
    assert heard.take() == {f"{root}/a/f"}
    assert watch_count(watch) - before == entered
    watch.watcher.disarm(declared, 0)
    assert watch_count(watch) == before
