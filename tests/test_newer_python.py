"""reactor works with the newest Python on this machine, too: Debian's is seldom that."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from package_index import index_answers

ROOT = Path(__file__).parents[1]
RELEASE = "import ensurepip, sys, venv; print(*sys.version_info[:4])"
OPTIONAL = {"cryptography", "lsprotocol", "pygls", "pyrage"}
"""The libraries of the extras, which ``scripts/setup`` installs only for development."""
IMPORT_ALL = f"""
import importlib, pkgutil, reactor
for module in pkgutil.walk_packages(reactor.__path__, "reactor."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] not in {OPTIONAL}:
            raise
"""


def newest_python():
    """The path of the newest finished Python, in PATH or made by pyenv, that is newer than the one that runs this."""
    places = [*map(Path, os.get_exec_path()), *(Path.home() / ".pyenv/versions").glob("*/bin")]
    found = {(sys.version_info[:2], sys.executable)}
    for path in (each for place in places for each in place.glob("python3.*")):
        if not re.fullmatch(r"python3\.\d+", path.name):
            continue
        said = subprocess.run(
            [path, "-c", RELEASE], capture_output=True, text=True, check=False
        ).stdout.split()
        if said[3:] == ["final"]:
            found.add(((int(said[0]), int(said[1])), str(path)))
    return max(found)[1]


@pytest.fixture
def environment(tmp_path):
    """An environment of that Python; that of this test, if there is none."""
    python = newest_python()
    if python == sys.executable:
        return Path(sys.prefix)
    if not index_answers(tmp_path):
        pytest.skip("the package index does not answer, and the libraries come from there")
    variables = os.environ | {"PYTHON": python, "REACTOR_VENV": str(tmp_path / "venv")}
    subprocess.run([ROOT / "scripts/setup"], env=variables, check=True, stdout=subprocess.DEVNULL)
    return tmp_path / "venv"


def test_every_module_is_imported_without_a_warning_and_the_first_example_runs(environment, tmp_path):
    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    run(environment / "bin/python", "-W", "error", "-c", IMPORT_ALL)
    reactor, example = environment / "bin/reactor", tmp_path / "example"
    run(reactor, "example", "quickstart", example)
    run_once = (reactor, "run", "--converge-once", example / "quickstart.yaml")
    assert "ok 0  changed 4  (" in run(*run_once)
    assert "ok 4  changed 0  (" in run(*run_once)
