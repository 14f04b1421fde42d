"""What a dry run says of files whose directory is not there yet is what a run does."""

import os

import pytest
from engine_worlds import managed

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.exec import Exec
from reactor.resources.file import File
from reactor.testing.story import converge_once

DRY = RunOptions(noop=True)


def directory(path):
    return File(
        name=str(path), ensure="directory", owner=str(os.getuid()), group=str(os.getgid()), mode="0755"
    )


async def test_what_only_an_uncertain_change_would_provide_is_uncertain_too(tmp_path):
    """The command may make the directory or not; so both files may be made or not."""
    maker = Exec(name="maker", ensure="present", command="true")
    first, second = managed(tmp_path / "d/first", after=["exec#maker"]), managed(tmp_path / "d/second")
    _, story = await converge_once(maker, first, second, options=DRY)
    for each in (first, second):
        (sentence,) = story.checks(each.ref)[-1].actions
        assert sentence.startswith("Can't tell before "), each.ref
    _, story = await converge_once(maker, first, second)
    assert {story.result(each.ref) for each in (first, second)} == {Result.FAILED}


@pytest.mark.parametrize(
    ("guards", "result"),
    [
        ({"onlyif": "test -e {path}"}, Result.WOULD_CHANGE),
        ({"unless": "sh -c '! test -e {path}/below'"}, Result.WOULD_CHANGE),
        ({"onlyif": "test -e {path}.other"}, Result.OK),
        ({"onlyif": "test -e {path}", "creates": "/"}, Result.OK),
        ({"onlyif": "test -e {path}", "refreshonly": True}, Result.OK),
        ({"onlyif": "test -e {path}", "changes": False}, Result.OK),
        ({"onlyif": "test -e {path}", "require": []}, Result.OK),
    ],
)
async def test_a_command_whose_guard_names_what_would_change_before_it_is_not_said_to_be_ok(
    tmp_path, guards, result
):
    made = managed(tmp_path / "made")
    words = {
        key: value.format(path=made.name) if type(value) is str else value for key, value in guards.items()
    }
    command = Exec(**({"name": "x", "command": "true", "require": [made.ref]} | words))
    _, story = await converge_once(made, command, options=DRY)
    assert story.result(command.ref) is result
    if result is Result.WOULD_CHANGE:
        assert story.checks(command.ref)[-1].actions == (
            f"Can't tell before {made.ref} is applied ({made.name} decides)",
        )


@pytest.mark.parametrize("options", [DRY, RunOptions()], ids=["dry", "real"])
async def test_a_file_below_a_symlink_to_what_the_run_makes_a_directory_does_not_fail(tmp_path, options):
    (tmp_path / "link").symlink_to("made")
    file, made = managed(tmp_path / "link/file"), directory(tmp_path / "made")
    ended, _ = await converge_once(file, made, options=options)
    assert ended.counts["failed"] == 0
    assert ended.counts["would_change"] + ended.counts["changed"] == 2
