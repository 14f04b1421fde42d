"""``kill -9`` at any moment: the next run finishes the tree, runs the commands that are owed, and leaves no litter."""

import os
import stat

import pytest
from kill_server import KillServer
from scaffold_worlds import converge, grow, look, make, tree

from reactor.resource.plan import ResourceError


@pytest.fixture(scope="module")
def server():
    with KillServer() as server:
        yield server


@pytest.mark.parametrize(
    ("call", "number", "when"),
    [
        ("mkdir", 1, "after"),
        ("mkdir", 2, "after"),
        ("rename", 1, "before"),
        ("rename", 1, "after"),
        ("unlink", 1, "before"),
        ("unlink", 1, "after"),
    ],
)
async def test_a_kill_at_any_step_of_a_file_with_commands_is_repaired_by_the_next_run(
    server, tmp_path, call, number, when
):
    grow(tmp_path / "templates", {"d/a": "a"})
    wanted = {"post": [{"a": f"sh -c 'cp {{}} {tmp_path}/seen; chmod 0700 {{}}'"}], "file_mode": "0600"}
    scaffold = make(tmp_path, **wanted)
    child = {"name": scaffold.name, "ensure": "present", "source": scaffold.source, **wanted}
    server.start("scaffold", child, die=[call, number, when])
    assert server.was_killed()
    await converge(scaffold)
    assert await look(scaffold) == ()
    assert tree(tmp_path / "out") == {"d/a": "a"}
    assert (tmp_path / "seen").read_text() == "a"
    modes = [stat.S_IMODE((tmp_path / "out" / name).stat().st_mode) for name in ("", "d", "d/a")]
    assert modes == [0o755, 0o755, 0o700]


async def test_a_command_that_failed_is_run_again_by_a_new_process(tmp_path):
    grow(tmp_path / "templates", {"a": "a"})
    wanted = {"post": [{"a": f"sh -c 'test -e {tmp_path}/ready && touch {tmp_path}/ran' {{}}"}]}
    for scaffold in (make(tmp_path, **wanted), make(tmp_path, **wanted)):
        (action,) = await look(scaffold)
        with pytest.raises(ResourceError, match="post: exit code 1"):
            await action.run()
    assert len(os.listdir(tmp_path / "out")) == 2, "one note, however often it fails"
    (tmp_path / "ready").touch()
    await converge(make(tmp_path, **wanted))
    assert (tmp_path / "ran").exists()
    assert tree(tmp_path / "out") == {"a": "a"}
    assert await look(make(tmp_path, **wanted)) == ()


async def test_while_a_command_runs_no_other_process_takes_its_note_for_that_of_a_killed_run(tmp_path):
    grow(tmp_path / "templates", {"a": "a"})
    command = f"sh -c 'flock --nonblock {tmp_path}/out/.post.*.reactor true; echo $? >{tmp_path}/locked' {{}}"
    await converge(make(tmp_path, post=[{"a": command}]))
    assert (tmp_path / "locked").read_text() == "1\n"


async def test_commands_that_are_no_longer_asked_for_are_not_pending(tmp_path):
    grow(tmp_path / "templates", {"a": "a"})
    (action,) = await look(make(tmp_path, post=[{"a": "false"}]))
    with pytest.raises(ResourceError, match="post: exit code 1"):
        await action.run()
    [note] = [path for path in (tmp_path / "out").iterdir() if path.name != "a"]
    assert await converge(make(tmp_path)) == [f"removed temporary files of an interrupted run: {note}"]
    assert tree(tmp_path / "out") == {"a": "a"}


async def test_what_is_to_be_absent_leaves_no_temporary_file_of_a_killed_run(server, tmp_path):
    grow(tmp_path / "templates", {"a": "a"})
    scaffold = make(tmp_path, ensure="absent")
    child = {"name": scaffold.name, "ensure": "present", "source": scaffold.source}
    server.start("scaffold", child, die=["rename", 1, "before"])
    assert server.was_killed()
    [left] = (tmp_path / "out").iterdir()
    assert await converge(scaffold) == [f"removed temporary files of an interrupted run: {left}"]
    assert tree(tmp_path / "out") is None
