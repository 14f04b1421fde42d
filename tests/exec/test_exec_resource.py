"""Whole exec resources, checked the way the engine checks them, on real processes."""

import os

import pytest
import trio

from reactor.engine.events import Noted, Result
from reactor.engine.options import RunOptions
from reactor.loading import load
from reactor.resource.plan import ResourceError
from reactor.resource.watch import PathWatch
from reactor.resources.exec import Exec, ExecState
from reactor.testing.story import converge_once, running
from reactor.watchers.inotify import InotifyWatcher


async def check(resource, *, refresh=False):
    """What one check of the resource does, as sentences."""
    with trio.fail_after(60):
        plan = resource.plan(await resource.observe(), refresh=refresh)
        for action in plan:
            await action.run()
        assert not plan or await resource.verify() == ()
    return [action.did for action in plan]


RAN, STABLE = ["executed"], []

MATRIX = {
    "creates is missing": ({"command": "/bin/touch {dir}/new", "creates": "{dir}/new"}, RAN),
    "creates is there": ({"command": "/bin/false", "creates": "{dir}/there"}, STABLE),
    "creates never appears": ({"command": "/bin/true", "creates": "{dir}/never"}, RAN),
    "creates appears with a bad exit code": (
        {"command": "touch {dir}/x; exit 1", "creates": "{dir}/x", "provider": "shell"},
        RAN,
    ),
    "onlyif succeeds": ({"command": "/bin/true", "onlyif": "/bin/true"}, RAN),
    "onlyif fails": ({"command": "/bin/false", "onlyif": "/bin/false"}, STABLE),
    "unless succeeds": ({"command": "/bin/false", "unless": "/bin/true"}, STABLE),
    "unless fails": ({"command": "/bin/true", "unless": "/bin/false"}, RAN),
    "an accepted exit code": ({"command": "/bin/sh -c 'exit 3'", "returns": [3, 4]}, RAN),
    "refreshonly": ({"command": "/bin/false", "refreshonly": True}, STABLE),
    "absent is ignored": ({"command": "/bin/true", "ensure": "absent"}, RAN),
    "a pipe in a shell": ({"command": "echo a | grep -q a", "provider": "shell"}, RAN),
    "the name is the command": ({"command": None, "name": "/bin/true"}, RAN),
    "a guard in a shell": ({"command": "/bin/false", "unless": "! false", "provider": "shell"}, STABLE),
    "a guard sees directory and variables": (
        {"command": "/bin/true", "cwd": "{dir}", "environment": ["F=there"], "onlyif": "sh -c 'test -e $F'"},
        RAN,
    ),
}


@pytest.mark.parametrize(("properties", "outcome"), MATRIX.values(), ids=MATRIX.keys())
async def test_the_matrix_of_cases_holds(tmp_path, properties, outcome):
    (tmp_path / "there").touch()
    filled = {k: v.format(dir=tmp_path) if isinstance(v, str) else v for k, v in properties.items()}
    assert await check(Exec(**{"name": "x"} | filled)) == outcome


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"command": "/bin/sh -c 'exit 5'", "returns": [3, 4]},
            "exit code 5 is not one of the accepted 3, 4",
        ),
        ({"command": "/bin/false"}, "exit code 1 is not the accepted 0"),
        ({"command": "sh -c 'echo o; echo e >&2; exit 2'"}, "exit code 2 is not the accepted 0\n  e"),
        ({"command": "sh -c 'echo o; exit 2'"}, "exit code 2 is not the accepted 0\n  o"),
        (
            {"command": "/bin/true", "onlyif": "/nonexistent"},
            "onlyif: the executable /nonexistent does not exist",
        ),
        ({"command": "/bin/true", "unless": "sh -c 'kill -9 $$'"}, "unless: killed by SIGKILL"),
        (
            {"command": "/bin/true", "onlyif": "sleep 60", "timeout": "100ms"},
            "onlyif: timed out after 0.1s; its process group was killed",
        ),
        ({"command": "sleep 60", "timeout": "100ms"}, "timed out after 0.1s; its process group was killed"),
    ],
)
async def test_a_failure_says_what_happened(properties, message):
    with pytest.raises(ResourceError) as caught:
        await check(Exec(name="x", **properties))
    assert caught.value.message == message


async def test_a_refresh_beats_every_guard(tmp_path):
    done = tmp_path / "done"
    done.touch()
    properties = {"creates": str(done), "unless": "/bin/true", "onlyif": "/bin/false", "refreshonly": True}
    resource = Exec(name=f"rm {done}", **properties)
    assert await check(resource) == []
    assert done.exists()
    assert await check(resource, refresh=True) == ["executed via subscribe"]
    assert not done.exists()


async def test_without_guards_it_runs_once_in_a_generation(tmp_path):
    count = tmp_path / "count"
    properties = {"name": f"echo x >> {count}", "provider": "shell"}
    resource = Exec(**properties)
    assert [await check(resource) for _ in range(3)] == [RAN, STABLE, STABLE]
    assert await check(Exec(**properties)) == RAN
    assert count.read_text() == "x\n" * 2


async def test_a_refresh_counts_as_the_run(tmp_path):
    resource = Exec(name="/bin/true")
    assert await check(resource, refresh=True) == ["executed via subscribe"]
    assert await check(resource) == STABLE


async def test_a_failed_run_does_not_count(tmp_path):
    resource = Exec(name=f"test -e {tmp_path}/needed")
    with pytest.raises(ResourceError):
        await check(resource)
    (tmp_path / "needed").touch()
    assert await check(resource) == RAN


async def test_it_runs_again_when_what_it_creates_goes(tmp_path):
    made = tmp_path / "made"
    resource = Exec(name=f"touch {made}", creates=str(made))
    assert await check(resource) == RAN
    assert await check(resource) == STABLE
    made.unlink()
    assert await check(resource) == RAN
    assert made.exists()


async def test_what_creates_its_directory_only_does_not_run_again_for_that(tmp_path):
    log, made = tmp_path / "log", tmp_path / "late/deep/made"
    command = f"echo x >> {log}; rm -rf {tmp_path}/late; mkdir -p {made.parent}"
    resource = Exec(name=command, provider="shell", creates=str(made))
    async with running(resource, watchers={PathWatch: InotifyWatcher}) as story:
        await story.until(lambda: len(story.checks(resource.ref)) > 1)
        await story.rest()
    assert log.read_text() == "x\n"


async def test_a_note_names_the_path_that_a_command_should_have_created(tmp_path):
    made, missing = tmp_path / "made", tmp_path / "missing"
    resources = [Exec(name=f"touch {made}", creates=str(made)), Exec(name="/bin/true", creates=str(missing))]
    _, story = await converge_once(*resources)
    assert [note.line for note in story.all(Noted)] == [
        f"the command has succeeded, but {missing} is not there"
    ]


async def test_what_its_command_did_not_create_may_come_and_go_later(tmp_path):
    made = tmp_path / "made"
    resource = Exec(name="/bin/true", creates=str(made))
    assert [await check(resource), await check(resource)] == [RAN, STABLE]
    made.touch()
    assert await check(resource) == STABLE
    made.unlink()
    assert await check(resource) == RAN


async def test_a_dangling_link_does_not_count_as_created(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    assert await Exec(name="x", creates=str(link)).observe() == ExecState(creates_exists=False)


async def test_a_path_that_can_not_be_judged_is_an_error(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(ResourceError, match=f"^cannot inspect {loop}: .*symbolic links"):
        await Exec(name="x", creates=str(loop)).observe()


async def test_a_guard_that_can_not_matter_is_not_run(tmp_path):
    (tmp_path / "there").touch()
    asked = f"touch {tmp_path}/asked"
    state = await Exec(name="x", creates=f"{tmp_path}/there", onlyif=asked).observe()
    assert state == ExecState(creates_exists=True)
    state = await Exec(name="x", onlyif="false", unless=asked).observe()
    assert state == ExecState(onlyif_ok=False)
    assert not (tmp_path / "asked").exists()


async def test_observing_does_not_run_the_command(tmp_path):
    await Exec(name=f"touch {tmp_path}/made", onlyif="true").observe()
    assert list(tmp_path.iterdir()) == []


async def test_the_environment_replaces_and_adds(said):
    await check(
        Exec(
            name="/usr/bin/env", path="/usr/bin", environment=["FOO=bar", "LANG=x", "FOO=baz"], logoutput=True
        )
    )
    assert said == ["PATH=/usr/bin", "LANG=x", "LC_ALL=C", "FOO=baz"]


async def test_nothing_of_our_own_environment_reaches_the_command(said, monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    await check(Exec(name="env", logoutput=True))
    assert said == ["PATH=/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin", "LANG=C", "LC_ALL=C"]


async def test_the_default_directory_is_the_root(said):
    await check(Exec(name="pwd", logoutput=True))
    assert said == ["/"]


async def test_output_is_only_shown_when_asked_for(said):
    await check(Exec(name="sh -c 'echo o; echo e >&2'", onlyif="echo guard"))
    assert said == []
    await check(Exec(name="sh -c 'echo o; echo e >&2'", onlyif="echo guard", logoutput=True))
    assert sorted(said) == ["e", "o"]


async def test_only_a_shell_expands(said):
    command = "echo $LANG 'a  b' *"
    await check(Exec(name=command, logoutput=True))
    await check(Exec(name=command, logoutput=True, provider="shell", cwd="/proc/self/task"))
    assert said[0] == "$LANG a  b *"
    assert said[1].startswith("C a  b ")
    assert "*" not in said[1]


async def test_a_timeout_of_zero_is_no_limit():
    assert await check(Exec(name="sleep 0.1", timeout="0")) == RAN


async def test_a_command_that_only_looks_is_never_changed_and_looks_again(tmp_path):
    (tmp_path / "seen").write_text("one\n")
    command = Exec(name="look", command=f"cat {tmp_path}/seen", changes=False)
    assert await check(command) == await check(command, refresh=True) == STABLE
    assert (await command.outputs())["stdout"] == "one"
    (tmp_path / "seen").write_text("two\n")
    assert await check(command) == STABLE
    assert (await command.outputs())["stdout"] == "two"


async def test_the_end_of_an_output_is_not_given_for_all_of_it():
    command = Exec(name="look", command="head -c 65536 /dev/zero", changes=False)
    await check(command)
    assert len((await command.outputs())["stdout"]) == 65536
    command = Exec(name="look", command="head -c 65537 /dev/zero", changes=False)
    await check(command)
    with pytest.raises(ResourceError, match="longer than the 64 KiB that are kept"):
        await command.outputs()


async def test_a_command_that_only_looks_fails_as_others_and_obeys_its_guards(tmp_path):
    failing = Exec(name="look", command="/bin/false", changes=False)
    with pytest.raises(ResourceError, match="exit code 1 is not the accepted 0"):
        await failing.observe()
    guarded = Exec(name="look", command=f"/usr/bin/touch {tmp_path}/x", changes=False, onlyif="/bin/false")
    assert await check(guarded) == STABLE
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("more", [{"creates": "/x"}, {"refreshonly": True}])
def test_a_command_that_only_looks_creates_nothing_and_waits_for_no_refresh(more):
    with pytest.raises(ValueError, match="a command that only looks has no"):
        Exec(name="look", command="/bin/true", changes=False, **more)


async def test_a_dry_run_knows_what_a_command_that_only_looks_prints(tmp_path):
    own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0755"'
    (tmp_path / "site.yaml").write_text(
        "resources:\n  - exec: [{names: {command: /bin/echo x, changes: false}}]\n"
        f'  - file: [{{"{tmp_path}/out": {{ensure: present, {own}, '
        "content: \"{{ output('exec#names').stdout }}\"}}]\n"
    )
    graph = load(str(tmp_path / "site.yaml")).graph
    ended, story = await converge_once(graph=graph, options=RunOptions(noop=True, diff=True))
    assert ended.counts[Result.OK] == 1
    [checked] = story.checks(f"file#{tmp_path}/out")
    assert "+x" in checked.diffs[0]
    await converge_once(graph=load(str(tmp_path / "site.yaml")).graph)
    ended, _ = await converge_once(graph=load(str(tmp_path / "site.yaml")).graph)
    assert ended.counts[Result.OK] == 2
