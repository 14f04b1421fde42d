"""The commands that take minutes and are run by hand: what they can't do, they say at once."""

import subprocess
import sys
from pathlib import Path

import pytest
from debs import named_among

TESTS = Path(__file__).parents[1]


def begun(command, word):
    """How the command ended that was given this word; it may not take as long as what it is for."""
    words = [sys.executable, TESTS / command / "run.py", word]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("command", ["matrix", "packaging", "playbooks"])
def test_asked_for_help_it_does_nothing_else(command):
    done = begun(command, "--help")
    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "usage:"), done.stderr


@pytest.mark.parametrize("command", ["packaging", "playbooks"])
def test_a_word_that_it_does_not_know_is_an_error(command):
    done = begun(command, "sid")
    assert done.returncode == 2
    assert "invalid choice: 'sid'" in done.stderr


def test_without_a_word_all_is_meant():
    assert named_among(("a", "b"), [], None) == ("a", "b")
    assert named_among(("a", "b"), ["b"], None) == ["b"]
