"""What the README shows is what happens: its console sessions are played, its tables compared with the code."""

import re
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from processes_of_cli import environment

from reactor.cli.example import example
from reactor.cli.group import COMMANDS
from reactor.cli.run import run
from reactor.resource.base import Meta, Resource
from reactor.resource.registry import find_kind, kind_names

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
SHOWN_DIRECTORY = "/tmp/reactor-quickstart"
ELSEWHERE = "# in another terminal: "
PROMPT = "$ "


def normal(line):
    """A line without what differs from run to run: how long things took."""
    return re.sub(r"\d[\d.]*( ms| s| min)", r"N\1", line).replace("N ms", "N s").rstrip("\n")


class Session:
    """Plays one console session and compares what is said with what is shown."""

    def __init__(self, directory, shell_environment):
        self.directory = str(directory)
        self.environment = shell_environment
        self.process = None
        self.shown = []

    def play(self, text):
        for line in text.replace(SHOWN_DIRECTORY, self.directory).splitlines():
            if line.startswith(PROMPT):
                self.end()
                self.process = self.start(line.removeprefix(PROMPT))
            elif line.startswith(ELSEWHERE):
                self.compare()
                self.start(line.removeprefix(ELSEWHERE)).communicate(timeout=20)
            elif line == "^C":
                self.compare()
                self.process.send_signal(signal.SIGINT)
            else:
                self.shown.append(line)
        self.end()

    def start(self, command):
        words = shlex.split(command)
        words = ["sh", "-c", command] if {"|", ">"} & set(words) else words
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=self.environment)

    def compare(self):
        """Read as many lines as are shown. Resources that do not depend on each other may change places."""
        said = [self.process.stdout.readline() for _ in self.shown]
        assert sorted(map(normal, said)) == sorted(map(normal, self.shown))
        self.shown = []

    def end(self):
        if self.process is not None:
            self.compare()
            assert self.process.communicate(timeout=20)[0] == ""
            assert self.process.returncode == 0
            self.process = None


@pytest.fixture
def session(tmp_path):
    program = tmp_path / "bin" / "reactor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m reactor "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    shell_environment = environment()
    shell_environment["PATH"] = f"{program.parent}:{shell_environment['PATH']}"
    session = Session(tmp_path / "quickstart", shell_environment)
    yield session
    if session.process is not None:
        session.process.kill()
        session.process.communicate()


def test_the_quick_tour_is_what_happens(session):
    tour = README.partition("## A quick tour")[2].partition("\n## ")[0]
    sessions = re.findall(r"```console\n(.*?)```", tour, re.DOTALL)
    assert len(sessions) == 5
    for text in sessions:
        session.play(text)


def test_there_is_no_console_session_that_is_not_played():
    tour = README.partition("## A quick tour")[2].partition("\n## ")[0]
    everywhere = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md")) + README
    assert everywhere.count("```console") == tour.count("```console")


def table_after(heading):
    section = README.partition(heading)[2]
    rows = re.search(r"\|---.*?\n((?:\|.*\n)+)", section).group(1)
    return [re.findall(r"`([^`]+)`", row.split(" | ")[0]) for row in rows.splitlines()]


def test_every_property_of_every_kind_is_in_its_table():
    common = set(Resource.model_fields)
    assert [name for (name,) in table_after("Every resource has:")] == list(Resource.model_fields)
    for kind in kind_names():
        fields = find_kind(kind).model_fields.items()
        own = [field.alias or name for name, field in fields if name not in common]
        assert [name for (name,) in table_after(f"### {kind}\n")] == own


def test_every_meta_property_is_named():
    row = next(line for line in README.splitlines() if line.startswith("| `meta` |"))
    assert re.findall(r"`(\w+)`", row)[1:] == list(Meta.model_fields)


def test_every_command_and_every_option_of_run_is_in_a_table():
    commands = {row[0].split()[1] for row in table_after("Each has `--help`")}
    assert commands == set(COMMANDS)
    options = {name.split()[0] for row in table_after("Options of `run`:") for name in row}
    declared = {option.opts[0] for option in run.params if option.param_type_name == "option"}
    assert options | {"--converge-once"} == declared


def test_every_example_is_offered_and_every_offer_is_there():
    (names,) = (parameter.type.choices for parameter in example.params if parameter.name == "name")
    assert {f"{name}.yaml" for name in names} == {path.name for path in (ROOT / "examples").glob("*.yaml")}


def test_every_meta_property_is_explained():
    page = (ROOT / "docs" / "meta.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert rows == list(Meta.model_fields)
