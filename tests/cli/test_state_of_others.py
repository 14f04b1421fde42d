"""Commands that ask for what somebody else runs."""

import subprocess
import sys

import pytest
from processes_of_cli import environment, with_constant

QUESTIONS = [
    ["status"],
    ["events"],
    ["why", "file#/x"],
    ["restore", "/x"],
    ["pause", "--for", "1h", "--reason", "x"],
]


def asked_by_nobody(words, home, system):
    """What is said to somebody who is not root, and has no right to look anywhere, on a host where root keeps state."""
    program = with_constant("reactor.journal.state_directory", "SYSTEM_DIRECTORY", str(system))
    variables = environment(HOME=str(home))
    for name in ("REACTOR_STATE_DIR", "XDG_STATE_HOME"):
        variables.pop(name, None)
    command = ["unshare", "--user", sys.executable, *program, *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=variables, timeout=60
    ).stderr


@pytest.fixture
def system(tmp_path):
    (tmp_path / "system").mkdir(0o700)
    return tmp_path / "system"


@pytest.mark.parametrize("words", QUESTIONS, ids=lambda words: words[0])
def test_a_user_who_finds_nothing_of_their_own_is_reported_where_root_keeps_it(tmp_path, system, words):
    said = asked_by_nobody(words, tmp_path, system)
    assert str(tmp_path / ".local/state/reactor") in said
    assert f"keep their state in {system}: use sudo" in said


@pytest.mark.parametrize("words", QUESTIONS, ids=lambda words: words[0])
def test_a_user_who_may_not_look_into_a_state_directory_is_reported_who_may(tmp_path, system, words):
    system.chmod(0)
    said = asked_by_nobody([*words, "--state-dir", str(system)], tmp_path, system)
    system.chmod(0o700)
    assert said.startswith("error[")
    assert str(system) in said
    assert said.endswith("hint: run the command as the user who runs reactor\n")
