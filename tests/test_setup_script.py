"""``scripts/setup`` where it can't install what it needs: nothing but bash is in its PATH."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parent.parent / "scripts/setup"


@pytest.fixture
def setup(tmp_path: Path):
    (tmp_path / "scripts").mkdir()
    copy = shutil.copy2(SETUP, tmp_path / "scripts")
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))

    def run(*arguments):
        return subprocess.run(
            [copy, *arguments],
            env={"PATH": str(tmp_path / "bin")},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_what_cannot_be_installed_is_named(setup, tmp_path: Path):
    found = setup()
    installer = "sudo" if os.geteuid() else "apt-get"
    assert found.returncode == 1
    assert found.stderr == (
        f"scripts/setup: missing: python3 python3-venv, and there is no {installer} to install it\n"
        "hint: install what this system calls so, as root, and run scripts/setup again\n"
    )
    assert not (tmp_path / ".venv").exists()


def test_what_only_root_has_in_its_path_is_not_missing(setup):
    missing = setup("dev").stderr.partition("missing: ")[2].partition(",")[0].split()
    assert "gcc" in missing
    assert not {"passwd", "procps"} & set(missing)
