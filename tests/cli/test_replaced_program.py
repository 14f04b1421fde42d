"""Another version of reactor is installed in the place of the one that runs, as ``scripts/setup`` does."""

from __future__ import annotations

import shutil
import signal
import socket
from pathlib import Path

import pytest
from processes_of_cli import environment, finish, spawned, up_to
from test_run_reload import manifest_text

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def program(tmp_path):
    """A copy of the program that a test may replace."""
    for name in ("reactor", "resources", "watchers"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / name, tmp_path / "program" / name, symlinks=True, ignore=ignored)
    return tmp_path / "program"


@pytest.fixture
def run(program, tmp_path):
    """A run of that copy, and its manifest."""
    path = tmp_path / "site.yaml"
    path.write_text(manifest_text(tmp_path, {"a": "one"}))
    variables = environment(PYTHONPATH=str(program), PYTHONDONTWRITEBYTECODE="1")
    words = ("run", "--format", "json", "--state-dir", tmp_path / "state", path)
    with spawned(*words, program=("-P", "-m", "reactor"), env=variables) as process:
        up_to(process, "converged")
        yield process, path


def replace(program):
    """Install other files: all that is not loaded yet is missing in them."""
    shutil.rmtree(program)


def test_a_run_whose_program_was_replaced_keeps_its_manifest_and_says_what_to_do(run, program, tmp_path):
    process, path = run
    replace(program)
    path.write_text(manifest_text(tmp_path, {"a": "two"}))
    *_, warning, rejected = up_to(process, "reloadrejected")
    assert "another version of reactor was installed" in warning["text"]
    assert warning["text"] in rejected["problems"]
    (tmp_path / "a").write_text("drift")
    assert up_to(process, "checked")[-1]["actions"] == ["updated the content"]
    assert (tmp_path / "a").read_text() == "one"
    process.send_signal(signal.SIGTERM)
    assert finish(process).code == 1, "the newest manifest is not in force"


def test_a_run_that_misses_a_part_of_its_program_ends_without_a_traceback(run, program, tmp_path):
    process, _ = run
    replace(program)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "state" / "control.sock"))
        done = finish(process)
    assert done.code == 1
    assert done.err.startswith("error[R0704]: another version of reactor was installed")
    assert "Traceback" not in done.err
