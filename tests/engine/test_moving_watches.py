"""Watches that depend on the host, such as on the home of a user, move along with it."""

from __future__ import annotations

from pathlib import Path

from engine_worlds import Late, managed

from reactor import Action, PathWatch, Resource
from reactor.engine.events import Cause
from reactor.resource.declared import declare
from reactor.testing.story import converge_once, running


class Pointed(Resource[str], kind="pointed"):
    """The file that another file names: it says hello."""

    has_moving_watches = True
    ensure: str = "present"

    @property
    def _target(self):
        return Path(Path(self.name).read_text().strip())

    def watches(self):
        yield PathWatch(self.name)
        yield PathWatch(str(self._target))

    async def observe(self):
        return self._target.read_text() if self._target.exists() else ""

    def plan(self, state, *, refresh):
        async def write():
            self._target.write_text("hello")

        return () if state == "hello" else (Action("Would have written", "wrote", write),)


async def test_the_new_place_is_watched_and_the_old_one_is_not(tmp_path):
    pointer, old, new = (tmp_path / name for name in ("pointer", "old", "new"))
    pointer.write_text(str(old))
    resource = Pointed(name=str(pointer))
    async with running(resource) as story:
        await story.converged()
        pointer.write_text(str(new))
        await story.until(new.exists)
        await story.rest()
        new.unlink()
        await story.until(new.exists)
        await story.rest()
        count = len(story.checks(resource.ref))
        old.unlink()
        pointer.touch()
        await story.until(lambda: len(story.checks(resource.ref)) > count)
        await story.rest()
        assert not old.exists()
        assert all(Cause.DRIFT in check.causes for check in story.checks(resource.ref)[1:])


async def test_a_run_that_ends_watches_nothing(tmp_path):
    (tmp_path / "pointer").write_text(str(tmp_path / "there"))
    ended, _ = await converge_once(Pointed(name=str(tmp_path / "pointer")))
    assert ended.changes == 1


class Found(Late):
    """The path is known at the check only."""

    def __init__(self, path):
        super().__init__()
        self._path = str(path)

    def settle(self, resource, outputs, *, briefly=False):
        return resource.model_copy(update={"name": self._path})


async def test_a_path_that_is_known_at_the_check_only_is_watched_from_then_on(tmp_path):
    resource = managed(tmp_path / "first")
    declare(resource, resource.declared._replace(deferred=Found(tmp_path / "found")))
    async with running(resource) as story:
        await story.converged()
        (tmp_path / "found").unlink()
        await story.until((tmp_path / "found").exists)
        assert not (tmp_path / "first").exists()
