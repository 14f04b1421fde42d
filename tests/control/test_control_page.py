"""docs/control.md says what the code does: its commands are run, its tables compared."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from control_worlds import controlled, scripted
from processes_of_cli import environment, spawned, wait_until

from reactor.control.application import application
from reactor.control.subject import Subject

PAGE = (Path(__file__).parents[2] / "docs" / "control.md").read_text()
SHOWN_DIRECTORY = "/tmp/reactor-quickstart"


def fields(heading):
    section = PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    return [
        name
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    ]


async def test_every_field_of_the_answers_is_documented(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world:
        status = await world.ask("status", everything=True)
    assert set(fields("run")) == set(status["run"])
    assert set(fields("resources")) == set(status["resources"][0])


async def test_every_route_is_documented(tmp_path):
    async with controlled(tmp_path, scripted("a")) as world:
        control = world.control
        subject = Subject(world.engine, control.board, control.broadcast, control.pauser, world.tally)
        served = {
            (max(route.methods - {"HEAD"}), route.path.partition("{")[0])
            for route in application(subject, print).routes
        }
    documented = {
        (method, path)
        for method, path in re.findall(r"^\| `(GET|POST) ([^`?]*?)(?:REF|\?.*)?` ", PAGE, re.MULTILINE)
    }
    assert documented == served


def normal(line):
    """A line without what differs from run to run: times, durations, the process."""
    line = re.sub(r"until .*", "until T", line)
    line = re.sub(r"pid \d+  up .*", "pid P  up D", line)
    return re.sub(r"ok \d+  changed \d+", "ok N  changed N", line)


@pytest.fixture
def shell(tmp_path):
    """Runs one shown command, below a directory of the test."""
    program = tmp_path / "bin" / "reactor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m reactor "$@"\n')
    program.chmod(0o700)
    variables = environment()
    variables["PATH"] = f"{program.parent}:{variables['PATH']}"

    def run(command):
        command = command.replace(SHOWN_DIRECTORY, f"{tmp_path}/quick")
        return subprocess.run(["sh", "-ec", command], capture_output=True, text=True, env=variables, check=True, timeout=20).stdout  # fmt: skip

    return run


def run_status():
    return subprocess.run(
        [sys.executable, "-m", "reactor", "status"], capture_output=True, env=environment(), check=False
    )


def test_the_commands_do_what_is_shown(shell, tmp_path):
    shell(f"reactor example quickstart {SHOWN_DIRECTORY}")
    blocks = re.findall(r"```(sh|text)\n(.*?)```", PAGE, re.DOTALL)
    with spawned("run", tmp_path / "quick" / "quickstart.yaml"):
        wait_until(lambda: run_status().returncode == 0)
        said, compared = "", 0
        for kind, text in blocks:
            if kind == "sh":
                if text.startswith("curl") and shutil.which("curl") is None:
                    continue
                said = shell(text).replace(f"{tmp_path}/quick", SHOWN_DIRECTORY)
            else:
                assert list(map(normal, said.splitlines())) == list(map(normal, text.splitlines()))
                compared += 1
    assert compared == 3
    assert '"status":"ok"' in said or shutil.which("curl") is None
