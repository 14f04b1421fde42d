"""`service install` makes root run the program for good: nobody else may be able to change it."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from processes_of_cli import environment, finish, spawned

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")

ROOT = Path(__file__).parents[2]
MALLORY = 12345
UNIT = Path("/etc/systemd/system/reactor-of-a-test.service")


@pytest.fixture
def checkout(tmp_path):
    """The program as a user has checked it out."""
    place = tmp_path / "home" / "checkout"
    for package in ("reactor", "resources", "watchers"):
        shutil.copytree(ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    return place


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text("resources: [{exec: ['true': {}]}]")
    return path


def install(checkout, *words):
    """The same as a console script of that installation: its directory is on the search path."""
    start = f"import sys; sys.path.insert(1, {str(checkout)!r}); from reactor.cli import main; main()"
    variables = environment(PYTHONPATH=str(checkout))
    program = ("-P", "-c", start)
    words = ("service", "install", "--name", "reactor-of-a-test", *words)
    with spawned(*words, program=program, env=variables, cwd="/") as process:
        return finish(process)


@pytest.mark.parametrize(
    "given",
    [".", "reactor/cli/commands/run.py", "..", "resources/exec"],
    ids=["the checkout", "a module", "the directory above", "a kind"],
)
def test_no_service_runs_files_that_another_user_could_change(checkout, manifest, given):
    foreign = checkout / given
    os.chown(foreign, MALLORY, MALLORY)
    done = install(checkout, manifest)
    assert done.code == 2
    assert (
        f"error[R0609]: other users can change code that the service would run as root: {os.path.normpath(foreign)} belongs to {MALLORY}"
        in done.err
    )
    assert "in /opt" in done.err
    assert not UNIT.exists()


def test_no_service_runs_an_interpreter_of_another_user(checkout, manifest, tmp_path):
    interpreter = tmp_path / "home" / "python"
    interpreter.symlink_to(os.path.realpath(sys.executable))
    os.chown(interpreter, MALLORY, MALLORY, follow_symlinks=False)
    start = f"import sys; sys.executable = {str(interpreter)!r}; from reactor.cli import main; main()"
    words = ("service", "install", "--name", "reactor-of-a-test", manifest)
    with spawned(*words, program=("-P", "-c", start), cwd="/") as process:
        done = finish(process)
    assert done.code == 2
    assert f"{interpreter} belongs to {MALLORY}" in done.err
    assert not UNIT.exists()


def test_no_service_runs_a_manifest_of_the_user_who_calls_sudo(checkout, manifest, monkeypatch):
    """The service is called by nobody: it would refuse the manifest when it starts."""
    os.chown(manifest, MALLORY, MALLORY)
    monkeypatch.setenv("SUDO_UID", str(MALLORY))
    done = install(checkout, "--dry-run", manifest)
    trusting = install(checkout, "--dry-run", manifest, "--", "--trust-owner", str(MALLORY))
    assert done.code == 2
    assert f"the manifest {manifest} can't be trusted" in done.err
    assert trusting.code == 0
    assert f"--trust-owner {MALLORY}" in trusting.out
