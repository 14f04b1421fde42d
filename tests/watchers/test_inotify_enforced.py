"""An enforcer that knows of the world only what the marks tell it keeps every file as it should be."""

import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import destroyer
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from reactor.resource.watch import PathWatch, WatchSink, WatchState
from reactor.watchers.inotify import InotifyWatcher

_GOOD = "good\n"


class Enforcer(WatchSink):
    """A sink that repairs what is marked, by renaming a good file over it."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self.repairs = 0
        self._due: dict[int, float] = {}
        self._new_data = trio.Event()

    def mark(self, vertex: int, delay: float = 0.0) -> None:
        due = trio.current_time() + delay
        self._due[vertex] = min(due, self._due.get(vertex, due))
        self._new_data.set()

    def mark_all(self, reason: str) -> None:
        for vertex in range(len(self.paths)):
            self.mark(vertex)

    def report(self, state: WatchState, reason: str, vertex: int | None = None) -> None:
        pass

    @property
    def spoiled(self) -> list[Path]:
        return [path for path in self.paths if not self._is_good(path)]

    async def run(self) -> None:
        while True:
            with trio.move_on_at(min(self._due.values(), default=float("inf"))):
                await self._new_data.wait()
                self._new_data = trio.Event()
            now = trio.current_time()
            for vertex in [vertex for vertex, due in self._due.items() if due <= now]:
                del self._due[vertex]
                self._check(vertex)

    def _check(self, vertex: int) -> None:
        path = self.paths[vertex]
        if self._is_good(path):
            return
        try:
            self._repair(path)
        except OSError:  # somebody was faster
            self.mark(vertex, 0.005)

    def _repair(self, path: Path) -> None:
        directory = Path(os.path.realpath(path.parent))
        directory.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        temporary = directory / f".{path.name}.tmp"
        temporary.write_text(_GOOD)
        temporary.rename(path)
        self.repairs += 1

    @staticmethod
    def _is_good(path: Path) -> bool:
        with suppress(OSError):
            return (
                not path.is_symlink() and path.read_text() == _GOOD and path.stat().st_mode & 0o777 == 0o644
            )
        return False


@pytest.fixture
async def enforcer(tmp_path: Path) -> AsyncIterator[Enforcer]:
    for release in ("one", "two"):
        (tmp_path / "releases" / release).mkdir(parents=True)
    (tmp_path / "current").symlink_to("releases/one")
    directories = ("a/b/c", "a", "x/y", "current", "current/below")
    paths = [tmp_path / directory / f"file{number}" for directory in directories for number in range(3)]
    enforcer = Enforcer(paths)
    watcher = InotifyWatcher(enforcer)
    for vertex, path in enumerate(paths):
        await watcher.arm(PathWatch(str(path)), vertex)
    enforcer.mark_all("start")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        nursery.start_soon(enforcer.run)
        await wait_all_tasks_blocked(0.01)
        assert not enforcer.spoiled
        enforcer.repairs = 0
        yield enforcer
        nursery.cancel_scope.cancel()
    watcher.close()


async def test_a_foreign_write_is_repaired_once(enforcer: Enforcer):
    enforcer.paths[0].write_text("junk")
    await wait_all_tasks_blocked(0.01)
    assert not enforcer.spoiled
    assert enforcer.repairs == 1


async def test_a_deleted_tree_is_restored(enforcer: Enforcer, tmp_path: Path):
    shutil.rmtree(tmp_path / "a")
    await wait_all_tasks_blocked(0.01)
    assert not enforcer.spoiled


@pytest.mark.parametrize(
    "command",
    [
        "install -m 600 {new} {path}",
        "cp --remove-destination {new} {path}",
        "cp -a {new} {path}",
        "mv {new} {path}",
        "sed -i s/good/bad/ {path}",
        "ln -sf {new} {path}",
    ],
    ids=lambda command: command.split()[0] + command.split()[1],
)
async def test_tools_that_replace_a_file_succeed_and_are_undone(
    enforcer: Enforcer, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
):
    # On a busy machine, the tool may be kept waiting.
    monkeypatch.setattr("reactor.watchers.inotify.SETTLE", 0.5)
    new = tmp_path / "new"
    for path in enforcer.paths[:5]:
        new.write_text("new content\n")
        await trio.run_process(command.format(new=new, path=path).split())
        await wait_all_tasks_blocked(0.01)
        assert not enforcer.spoiled
    assert enforcer.repairs >= 5


@pytest.mark.parametrize("seed", range(6))
async def test_after_random_damage_by_another_process_everything_is_restored(
    enforcer: Enforcer, tmp_path: Path, seed: int
):
    command = [sys.executable, "-S", destroyer.__file__, seed, tmp_path, *enforcer.paths]
    await trio.run_process([str(word) for word in command])
    await wait_all_tasks_blocked(0.02)
    assert enforcer.spoiled == []
    assert enforcer.repairs > 0
