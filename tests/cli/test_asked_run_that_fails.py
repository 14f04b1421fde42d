"""One-shot runs beside an active run that ends, hangs or reloads, and clients that leave."""

from __future__ import annotations

import json
import signal
import socket

import pytest
from asked_worlds import IN_ORDER, TWO, UNSEEN, AskedWorld, children_of
from processes_of_cli import GUARD, finish, spawned, up_to, wait_until


def test_an_active_run_that_is_killed_has_not_converged(tmp_path):
    text = (
        IN_ORDER
        + "  - exec:\n      - sh -c 'test ! -e {dir}/slow || exec sleep 600': {unless: test ! -e {dir}/slow}\n"
    )
    world = AskedWorld(tmp_path / "asked", text)
    with world.active() as process:
        (world.directory / "slow").touch()
        with spawned(*world.words("--format", "json"), env=world.environment()) as asking:
            wait_until(lambda: len(children_of(process.pid)) > 0)
            process.kill()
            done = finish(asking)
    assert done.code == 1
    assert done.err.startswith("error[R0606]: the active run ")


def test_an_active_run_that_is_stopped_is_named(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    quick = (
        "-c",
        "import reactor.cli.asking as asking; asking.TIMEOUT = 0.2; from reactor.cli import main; main()",
    )
    with world.active() as process:
        process.send_signal(signal.SIGSTOP)
        with spawned(*world.words("--detailed-exitcodes"), program=quick, env=world.environment()) as asking:
            done = finish(asking)
        process.send_signal(signal.SIGCONT)
        assert (done.code, done.out) == (4, "")
        assert done.err.startswith("error[R0606]: the active run does not answer\nhint: ")
        assert world.once()[0] == 0


def test_an_interrupted_client_ends_and_the_run_goes_on(tmp_path):
    text = UNSEEN.replace(
        "touch {dir}/made", "sh -c 'until test -e {dir}/go; do sleep 0.01; done; touch {dir}/made'"
    )
    world = AskedWorld(tmp_path / "asked", text)
    (world.directory / "go").touch()
    with world.active() as process:
        (world.directory / "go").unlink()
        (world.directory / "made").unlink()
        with spawned(*world.words(), env=world.environment()) as asking:
            wait_until(lambda: len(children_of(process.pid)) > 0)
            asking.send_signal(signal.SIGINT)
            assert finish(asking).code == 130
        (world.directory / "go").touch()
        wait_until((world.directory / "made").exists)
        assert world.once()[0] == 0


def test_a_client_that_stops_reading_delays_nothing(tmp_path):
    world = AskedWorld(tmp_path / "asked", UNSEEN)
    with world.active():
        (world.directory / "made").unlink()
        with spawned(*world.words(), env=world.environment()) as asking:
            asking.send_signal(signal.SIGSTOP)
            assert world.once()[0] == 0
            asking.send_signal(signal.SIGCONT)
            assert finish(asking).code == 0


def test_two_clients_are_answered_one_after_the_other(tmp_path):
    text = IN_ORDER + "  - exec:\n      - sh -c 'echo x >> {dir}/log':\n"
    world = AskedWorld(tmp_path / "asked", text)
    with world.active(), spawned(*world.words(), env=world.environment()) as first:
        second = world.once()
        assert world.comparable(finish(first)) == second
    assert second[0] == 0
    assert (world.directory / "log").read_text() == "x\nx\nx\n"


def test_a_socket_in_a_directory_of_others_is_not_connected_to(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    world.state.mkdir()
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(world.state / "control.sock"))
        foreign.listen()
        foreign.setblocking(False)
        world.state.chmod(0o777)
        code, _, err = world.once()
        assert code == 2
        assert "every user can write" in str(err)
        with pytest.raises(BlockingIOError):
            foreign.accept()


def test_a_dead_socket_is_no_active_run(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    with world.active() as process:
        process.kill()
        process.wait(GUARD)
        assert (world.state / "control.sock").exists()
        assert world.once()[0] == 0


def test_a_dry_run_does_not_ask(tmp_path):
    world = AskedWorld(tmp_path / "asked", UNSEEN)
    with world.active():
        (world.directory / "made").unlink()
        assert world.once("--noop")[0] == 0
        assert not (world.directory / "made").exists()


SLOW = (
    TWO
    + "  - exec:\n      - sh -c 'until test -e {dir}/go; do sleep 0.01; done': {unless: test -e {dir}/done}\n"
)
"""A check of it takes until there is a file ``go``."""


@pytest.fixture
def slowed(tmp_path):
    """An active run that reloads by itself, and a client whose full check waits for ``go``."""
    world = AskedWorld(tmp_path / "asked", SLOW)
    (world.directory / "done").touch()
    with world.active(program=("-m", "reactor")) as process:
        (world.directory / "done").unlink()
        with spawned(*world.words("--format", "json"), env=world.environment()) as asking:
            wait_until(lambda: len(children_of(process.pid)) > 0)
            yield world, process, asking


def test_a_version_that_comes_meanwhile_is_part_of_it(slowed):
    world, process, asking = slowed
    world.write(SLOW.replace("two", "three"))
    up_to(process, "reloaded")
    (world.directory / "go").touch()
    done = finish(asking)
    assert done.code == 0
    events = done.records
    assert [event["changed"] for event in events if event["event"] == "reloaded"] == [
        [f"file#{world.directory}/b"]
    ]
    assert (world.directory / "b").read_text() == "three"


def test_an_invalid_version_that_comes_meanwhile_is_a_failure(slowed):
    world, process, asking = slowed
    world.write(SLOW.replace("content: two", "contnt: 2"))
    up_to(process, "reloadrejected")
    (world.directory / "go").touch()
    done = finish(asking)
    assert done.code == 1
    assert json.loads(done.out.splitlines()[-1])["outdated"] == [str(world.manifest)]


def test_a_run_that_is_ended_meanwhile_has_not_converged(slowed):
    world, process, asking = slowed
    process.send_signal(signal.SIGTERM)
    (world.directory / "go").touch()
    done = finish(asking)
    assert done.code == 1
    assert done.err.startswith("error[R0606]: the active run ended before")


def test_drift_is_repaired_while_a_client_waits(slowed):
    world, _, asking = slowed
    (world.directory / "a").write_text("drift")
    wait_until(lambda: (world.directory / "a").read_text() == "one")
    (world.directory / "go").touch()
    assert finish(asking).code == 0


def test_a_command_that_runs_already_is_run_again_with_what_is_there_now(tmp_path):
    slow = "v=$(cat {dir}/in); touch {dir}/begun; until test -e {dir}/go; do sleep 0.01; done; exit $v"
    world = AskedWorld(tmp_path / "asked", f"{UNSEEN}      - slow: {{provider: shell, command: '{slow}'}}\n")
    made = world.directory / "made"
    (world.directory / "in").write_text("0")
    with spawned("run", world.manifest, env=world.environment()):
        wait_until((world.directory / "begun").exists)
        (world.directory / "in").write_text("7")
        made.unlink()
        with spawned(*world.words(), env=world.environment()) as asking:
            wait_until(made.exists)  # the full check has begun
            (world.directory / "go").touch()
            done = finish(asking)
    assert done.code == 1, done
    assert "exit code 7" in done.out
