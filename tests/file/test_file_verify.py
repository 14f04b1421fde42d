"""The command that must succeed once the new content is in place. Otherwise what was there is put back."""

import os
import shlex
from pathlib import Path

import pytest
import trio
from file_worlds import ME, MY_GROUP, converge, look, make, names_in, picture
from kill_server import KillServer

from reactor.engine.check import check
from reactor.engine.outcome import Outcome
from reactor.resource.plan import ResourceError
from reactor.resources.file.verification import _AGAIN


def shell(script: str) -> str:
    return f"/bin/sh -c {shlex.quote(script)}"


def no_bad_content(path: Path, log: Path) -> str:
    """A service that is told to read its file again, notes what it has read, and does not answer if that is bad."""
    return shell(f"cat {path} >> {log}; echo >> {log}; echo answer >&2; ! grep -qs bad {path}")


async def checked(file):
    async def nothing(_state):
        pass

    return await check(file, refresh=False, noop=False, diff=True, before_apply=nothing)


@pytest.fixture(scope="module")
def server():
    with KillServer() as server:
        yield server


@pytest.mark.parametrize("old", ["old", None])
async def test_content_with_which_the_service_does_not_answer_is_taken_back(tmp_path, old):
    path, log = tmp_path / "there" / "f.conf", tmp_path / "log"
    path.parent.mkdir()
    if old is not None:
        path.write_text(old)
        path.chmod(0o600)
        os.setxattr(path, "user.origin", b"hand")
    before = picture(path) if old is not None else None
    result = await checked(make(path, content="bad", verify=no_bad_content(path, log)))
    assert result.outcome is Outcome.FAILED
    assert result.error == "verify: exit code 1 of /bin/sh\n  answer"
    assert result.hint.startswith(
        f"{path} is as before: correct the new content, or the command in `verify`; "
    )
    assert names_in(path.parent) == ([] if old is None else ["f.conf"])
    if before is not None:
        assert {name: (*found[:5], found[6]) for name, found in picture(path).items()} == {
            name: (*found[:5], found[6]) for name, found in before.items()
        }, "the same file; only the time of the change of its names is another"
        assert os.getxattr(path, "user.origin") == b"hand"
    assert log.read_text().split("\n") == ["bad", old or "", ""], (
        "the service has read again what it had before"
    )


async def test_content_with_which_the_service_answers_stays(tmp_path):
    path, log = tmp_path / "f", tmp_path / "log"
    path.write_text("old")
    result = await checked(make(path, content="good", verify=no_bad_content(path, log)))
    assert (result.outcome, path.read_text(), log.read_text()) == (Outcome.CHANGED, "good", "good\n")
    assert result.diffs[0].endswith(
        "-old\n\\ No newline at end of file\n+good\n\\ No newline at end of file\n"
    )
    assert names_in(tmp_path) == ["f", "log"]


async def test_a_command_that_also_fails_for_the_former_content_says_so(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    result = await checked(make(path, content="new", verify=shell(f"cat {path} >&2; exit 7")))
    assert result.error == (
        "verify: exit code 7 of /bin/sh\n  new\nwith what was there before, too: verify: exit code 7 of /bin/sh\n  old"
    )
    assert path.read_text() == "old"


async def test_content_is_never_in_place_when_the_command_is_missing(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    file = make(path, content="new", verify="no-such-command --now")
    with pytest.raises(ResourceError, match="verify: there is no executable 'no-such-command'") as refused:
        await file.preflight(await file.observe())
    assert refused.value.hint.startswith("require the resource that installs the command")
    assert (await checked(file)).error == refused.value.message
    assert (path.read_text(), names_in(tmp_path)) == ("old", ["f"])


async def test_rejected_content_is_not_put_in_place_at_each_retry(tmp_path, autojump_clock):
    path, log, source = tmp_path / "f", tmp_path / "log", tmp_path / "source"
    source.write_text("bad 1")
    file = make(path, source=str(source), verify=no_bad_content(path, log))

    async def has_tried():
        before = len(log.read_text()) if log.exists() else 0
        assert (await checked(file)).error == "verify: exit code 1 of /bin/sh\n  answer"
        return len(log.read_text()) > before

    assert await has_tried()
    assert not await has_tried()
    source.write_text("bad 2")
    assert await has_tried(), "other content may be good"
    assert not await has_tried()
    await trio.sleep(_AGAIN)
    assert await has_tried(), "what makes it bad may be elsewhere"
    file.run_again()
    assert await has_tried(), "somebody has asked for a full check"


async def test_a_run_that_is_stopped_while_the_command_runs_leaves_the_former_file(tmp_path):
    path, running = tmp_path / "f", tmp_path / "running"
    path.write_text("old")
    os.mkfifo(running)
    file = make(path, content="new", verify=shell(f"echo > {running}; sleep 1000"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(converge, file)
        await trio.to_thread.run_sync(running.read_text)
        assert path.read_text() == "new"
        nursery.cancel_scope.cancel()
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["f", "running"]


async def test_the_command_gets_the_path_itself_and_content_that_validate_refuses_is_never_in_place(tmp_path):
    path, log = tmp_path / "f", tmp_path / "log"
    file = make(path, content="bad", validate=shell("exit 1") + " {path}", verify=f"cp {{path}} {log}")
    assert (await checked(file)).error == "validate: exit code 1 of /bin/sh"
    assert names_in(tmp_path) == []
    await converge(make(path, content="good", verify=f"cp {{path}} {log}"))
    assert log.read_text() == "good"


async def test_only_new_content_is_verified(tmp_path):
    path, log = tmp_path / "f", tmp_path / "log"
    path.write_text("x")
    path.chmod(0o600)
    await converge(make(path, content="x", verify=f"touch {log}"))
    assert names_in(tmp_path) == ["f"]


@pytest.mark.parametrize("old", ["old", None])
@pytest.mark.parametrize(
    "die",
    [(call, 1, when) for call in ("link", "rename", "unlink", "stat") for when in ("before", "after")]
    + [("rename", 2, "before"), ("rename", 2, "after"), ("unlink", 2, "before"), ("fsync", 2, "after")],
    ids=str,
)
def test_a_kill_at_any_step_leaves_the_former_file_once_the_next_run_has_ended(server, tmp_path, die, old):
    """Whether the new content is good is never known: the next run finds that out anew."""
    path, log = tmp_path / "there" / "f", tmp_path / "log"
    path.parent.mkdir()
    if old is not None:
        path.write_text(old)
    verify = no_bad_content(path, log)
    properties = {"name": str(path), "ensure": "present", "owner": ME, "group": MY_GROUP, "mode": "0644"}
    server.start("file", properties | {"content": "bad", "verify": verify}, die=list(die))
    server.was_killed()
    assert not path.exists() or path.read_text() in ("old", "bad")
    result = trio.run(checked, make(path, content="bad", verify=verify))
    assert (result.outcome, result.error) == (Outcome.FAILED, "verify: exit code 1 of /bin/sh\n  answer")
    assert {name: (path.parent / name).read_text() for name in names_in(path.parent)} == (
        {} if old is None else {"f": old}
    )
    assert trio.run(checked, make(path, content="good", verify=verify)).outcome is Outcome.CHANGED
    assert (names_in(path.parent), path.read_text()) == (["f"], "good")


async def test_what_a_killed_run_left_is_a_change_of_a_dry_run_and_rubbish_once_nobody_verifies(
    server, tmp_path
):
    path = tmp_path / "f"
    path.write_text("old")
    properties = {"name": str(path), "ensure": "present", "owner": ME, "group": MY_GROUP, "mode": "0644"}
    server.start("file", properties | {"content": "new", "verify": "true"}, die=["rename", 1, "after"])
    assert await trio.to_thread.run_sync(server.was_killed)
    assert (path.read_text(), len(names_in(tmp_path))) == ("new", 2)
    assert [action.would for action in await look(make(path, content="new", verify="true"))] == [
        "Would have put back the former file, because the last change was interrupted before it was verified"
    ]
    await converge(make(path, content="new"))
    assert (path.read_text(), names_in(tmp_path)) == ("new", ["f"])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
async def test_a_file_that_could_not_be_put_back_is_not_changed(tmp_path):
    path, other = tmp_path / "f", tmp_path / "other"
    path.write_text("below")
    other.write_text("old")
    await trio.run_process(["mount", "--bind", other, path])
    try:
        result = await checked(make(path, content="new", verify="true"))
        assert f"{path} can't get a second name, so it could not be put back" in result.error
        assert path.read_text() == "old"
    finally:
        await trio.run_process(["umount", path])


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"content": "x", "verify": ""}, "the command is empty"),
        ({"content": "x", "verify": "nginx 't"}, "unterminated single quote"),
        ({"verify": "nginx -t"}, "there is nothing to verify"),
        ({"ensure": "directory", "verify": "nginx -t"}, "there is nothing to verify"),
    ],
)
def test_a_command_that_can_not_verify_is_refused(properties, words):
    with pytest.raises(ValueError, match=words):
        make("/a", **properties)


def test_what_the_command_runs_and_reads_goes_first():
    file = make("/etc/a", content="x", verify="/usr/local/bin/check -c /etc/check.conf")
    assert list(file.relations().depends_on) == ["/etc", "/usr/local/bin/check", "/etc/check.conf"]
