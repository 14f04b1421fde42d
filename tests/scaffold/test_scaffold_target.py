"""What is above the target of a scaffold."""

from scaffold_worlds import grow, make

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
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
