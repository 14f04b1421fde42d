"""Whoever is killed ends no command: then the guardian does."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from processes_of_cli import finish, pids_running, spawned, wait_until
from test_exec_process import living, stat_of

HANGING = """
resources:
  - exec:
      - hang: { command: "%s", provider: shell, logoutput: true }
"""
LIVE = """
import sys, trio
from reactor.resources.process import ENVIRONMENT, Command, run
async def live():
    for script in sys.argv[1:]:
        await run(Command(("/bin/sh", "-c", script), "/", ENVIRONMENT), lambda line: print(line, flush=True))
trio.run(live)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT, signal.SIGABRT])
def test_a_command_does_not_outlive_a_run_that_is_killed(manifest, tmp_path, number):
    mark = f"300.{os.getpid()}{int(number)}"
    script = f"ulimit -c 0; setsid sleep {mark} & echo ready; sleep {mark}; touch {tmp_path}/later"
    with spawned("run", manifest(HANGING % script)) as process:
        assert b"ready" in process.stdout.readline()
        wait_until(lambda: len(pids_running(f"sleep\0{mark}")) == 2)
        process.send_signal(number)
        assert finish(process).code == -number
        wait_until(lambda: not pids_running(mark))
    assert not (tmp_path / "later").exists()


def test_a_command_whose_run_is_killed_has_its_grace(tmp_path):
    script = f"trap 'sleep 0.3; touch {tmp_path}/cleaned; exit' TERM; echo ready; exec >&- 2>&-; while :; do sleep 0.05; done"
    with spawned(script, program=("-c", LIVE)) as process:
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        wait_until((tmp_path / "cleaned").exists)


def test_what_a_command_has_left_running_outlives_a_run_that_is_killed():
    """It is in the group of a command that has ended."""
    with spawned("sleep 60 >/dev/null 2>&1 & echo $!", "echo $$; sleep 60", program=("-c", LIVE)) as process:
        left, command = (int(process.stdout.readline()) for _ in range(2))
        process.kill()
        wait_until(lambda: not living(command))
        assert stat_of(left)[0] not in "ZX"
        os.kill(left, signal.SIGKILL)


def guardian_of(process):
    """The one that holds the other end of a pipe of ``process``, and is no child of it."""
    pipes = set(links_of(process.pid))
    (found,) = (pid for pid in pids_running("reactor-guardian") if pipes & set(links_of(pid)))
    return found


def links_of(pid):
    with suppress(OSError):  # the guardian of another test, which has ended since
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed since
                if (target := os.readlink(descriptor)).startswith("pipe:"):
                    yield target


def test_a_guardian_that_is_killed_is_replaced_with_the_next_command(tmp_path):
    script = f"echo $$; while ! test -e {tmp_path}/go; do sleep 0.02; done"
    with spawned(script, "true", "echo $$; sleep 60", program=("-c", LIVE)) as process:
        assert process.stdout.readline()
        os.kill(guardian_of(process), signal.SIGKILL)
        (tmp_path / "go").touch()
        command = int(process.stdout.readline())
        process.kill()
        wait_until(lambda: not living(command))
