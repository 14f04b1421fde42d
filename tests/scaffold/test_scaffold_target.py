"""What is above the target of a scaffold."""

import os

import pytest
from scaffold_worlds import grow, make

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.file import File
from reactor.testing.story import converge_once


async def test_a_dry_run_below_a_link_to_nowhere_fails_as_the_run_does(tmp_path):
    grow(tmp_path / "templates", {"a": "a"})
    (tmp_path / "out").symlink_to("nowhere")
    errors = []
    for options in (RunOptions(noop=True), RunOptions()):
        scaffold = make(tmp_path).model_copy(update={"name": f"{tmp_path}/out/below"})
        _, story = await converge_once(scaffold, options=options)
        assert story.result(scaffold.ref) is Result.FAILED
        errors.append(story.checks(scaffold.ref)[0].error)
    assert errors == [f'"{tmp_path}/out" is not a directory'] * 2


async def test_a_dry_run_below_directories_that_the_run_makes_does_not_fail(tmp_path):
    grow(tmp_path / "templates", {"a": "a"})
    scaffold = make(tmp_path).model_copy(update={"name": f"{tmp_path}/new/out"})
    _, story = await converge_once(scaffold, options=RunOptions(noop=True))
    assert story.result(scaffold.ref) is Result.WOULD_CHANGE
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("purge", [False, True])
async def test_a_directory_that_another_resource_manages_keeps_its_mode(tmp_path, purge):
    grow(tmp_path / "templates", {"sub/a": "a", "own/a": "a"})
    owner = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0775"}
    inner = File(name=f"{tmp_path}/out/sub", ensure="directory", **owner)
    for expected in (Result.CHANGED, Result.OK):
        scaffold = make(tmp_path, directory_mode="0700", purge=purge)
        _, story = await converge_once(scaffold, inner)
        assert [story.result(each.ref) for each in (scaffold, inner)] == [expected] * 2
    modes = [os.stat(f"{scaffold.name}{below}").st_mode & 0o777 for below in ("", "/sub", "/own")]
    assert modes == [0o700, 0o775, 0o700]
