"""Root starts reactor where another user has put Python modules: none of them is imported, by it and by what it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from victims import STRANGER

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")

SCRIPT = Path(sys.executable).with_name("reactor")
NAMES = (*sys.stdlib_module_names, *packages_distributions(), "sitecustomize", "usercustomize", "evil_kind")
NOT_TRAPPED = ("reactor", "__editable___reactor_converge_0_1_0_finder")
"""Where `python -m reactor` finds the program itself in the current directory, that is what it was asked to start."""
MANIFEST = """
resources:
  - exec:
      - remember: {{command: touch {top}/ran, creates: {top}/ran}}
  - scaffold:
      - {top}/tree: {{ensure: present, engine: jinja, source: {top}/templates}}
      - {top}/other: {{ensure: present, engine: go, source: {top}/templates}}
"""


@pytest.fixture
def place(tmp_path, request):
    """A directory of the stranger full of traps; whoever imports one leaves a line in `caught`.

    ``python -m`` imports from its library before it starts a program: there, only what is not of that library is a trap.
    """
    by_python = getattr(request, "param", "") == "python -m"
    names = {name for name in NAMES if not (by_python and name in sys.stdlib_module_names)}
    home = tmp_path / "home"
    site = home / f".local/lib/python3.{sys.version_info.minor}/site-packages"
    info = home / "evil-1.0.dist-info"
    for directory in (site, info):
        directory.mkdir(parents=True)
    trap = f"import posix; posix.write(posix.open({str(tmp_path / 'caught')!r}, 0o2101, 0o666), __name__.encode() + b'\\n')\n"
    for directory in (home, site):
        for name in names - set(NOT_TRAPPED):
            (directory / f"{name}.py").write_text(trap)
        (directory / "startup").write_text(trap)
        (directory / "evil.pth").write_text(trap.replace("__name__", "'pth'").replace("\n", "") + "\n")
    (info / "entry_points.txt").write_text(
        "[reactor.resources]\nevil = evil_kind:Evil\nfile = evil_kind:Evil\n"
    )
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    for path in (home, *home.rglob("*")):
        os.chown(path, STRANGER, STRANGER)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/a").write_text("text")
    (tmp_path / "m.yaml").write_text(MANIFEST.format(top=tmp_path))
    return tmp_path


def start(place, *words, **variables):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"REACTOR_STATE_DIR": str(place / "state"), "HOME": str(place / "home"), **variables}
    return subprocess.run(
        words, cwd=place / "home", env=environment, capture_output=True, text=True, check=False
    )


STARTED = {
    "the command": (str(SCRIPT),),
    "python -m": (sys.executable, "-m", "reactor"),
    "python -m, as root's own": (sys.executable, "-P", "-m", "reactor"),
}
COMMANDS = {
    "run": ("run", "--converge-once", "{}/m.yaml"),
    "kinds": ("kinds",),
    "ensure": ("ensure", "file", "{}/made", "--content", "x"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("place", "started"), [(each, each) for each in STARTED], indirect=["place"])
def test_nothing_is_imported_from_the_current_directory_or_home_of_another_user(place, started, command):
    words = [word.format(place) for word in COMMANDS[command]]
    done = start(place, *STARTED[started], *words)
    caught = place / "caught"
    assert not caught.exists(), f"{set(caught.read_text().split())}: {done.stderr}"
    assert "evil" not in done.stdout + done.stderr
    assert done.returncode in (0, 3), done.stderr
    if command == "run":
        assert (place / "ran").exists()
        assert (place / "tree/a").read_text() == (place / "other/a").read_text() == "text"


@pytest.mark.parametrize("variable", ["PYTHONSTARTUP", "PYTHONINSPECT"])
def test_what_python_would_do_at_a_terminal_is_not_done(place, variable):
    done = start(place, SCRIPT, "kinds", **{variable: str(place / "home/startup")})
    assert not (place / "caught").exists()
    assert done.returncode == 0


def test_the_trap_itself_works(place):
    start(place, sys.executable, "-c", "import yaml")
    assert "yaml" in (place / "caught").read_text()
