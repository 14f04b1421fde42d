"""``scripts/setup`` where it can't install what it needs: only bash is in its PATH, and the distribution has no Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parent.parent / "scripts/setup"


@pytest.fixture
def setup(tmp_path: Path):
    (tmp_path / "scripts").mkdir()
    copy = Path(shutil.copy2(SETUP, tmp_path / "scripts"))
    script = copy.read_text()
    assert "=/usr/bin/python3\n" in script
    copy.write_text(script.replace("=/usr/bin/python3\n", f"={tmp_path}/distribution\n"))
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))

    def run(*arguments, **variables):
        return subprocess.run(
            [copy, *arguments],
            env={"PATH": str(tmp_path / "bin")} | variables,
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
        f"scripts/setup: missing: python3 python3-venv, and there is no {installer}: "
        "install what this system calls so, as root, and run scripts/setup again\n"
    )
    assert not (tmp_path / ".venv").exists()


def test_what_only_root_has_in_its_path_is_not_missing(setup):
    missing = setup("dev").stderr.partition("missing: ")[2].partition(",")[0].split()
    assert "gcc" in missing
    assert not {"passwd", "procps"} & set(missing)


def program(path: Path, body: str) -> str:
    path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_a_python_that_is_too_old_is_reported_in_one_line(setup, tmp_path: Path):
    old = program(
        tmp_path / "bin/python3",
        'case "$2" in *ensurepip*) ;; *platform*) echo 3.9.2 ;; *) exit 1 ;; esac',
    )
    said = "scripts/setup: missing: Python 3.11 or later: {} is 3.9.2; PYTHON=... names another\n"
    assert setup().stderr == said.format("python3")
    assert setup(PYTHON=old).stderr == said.format(old)
    assert not (tmp_path / ".venv").exists()


def test_a_python_that_was_named_is_not_replaced_by_another(setup, tmp_path: Path):
    assert setup(PYTHON="/no/python").stderr == (
        "scripts/setup: there is no /no/python, which PYTHON names\n"
    )
    bare = program(tmp_path / "bare", "exit 1")
    assert setup(PYTHON=bare).stderr == (
        f"scripts/setup: {bare} has no module venv: install it, or name another with PYTHON\n"
    )


VERSION = 'case "$2" in *version_info*|*ensurepip*) ;; *platform*) echo {} ;; *) exit 1 ;; esac'


def test_the_python_of_the_distribution_is_taken_before_that_in_the_path(setup, tmp_path: Path):
    program(tmp_path / "bin/python3", VERSION.format("3.13.1"))
    assert "with Python 3.13.1" in setup().stdout
    program(tmp_path / "distribution", VERSION.format("3.11.2"))
    assert "with Python 3.11.2" in setup().stdout
    assert "with Python 3.13.1" in setup(PYTHON=str(tmp_path / "bin/python3")).stdout


def test_a_python_of_the_distribution_that_is_too_old_or_without_venv_is_passed_over(setup, tmp_path: Path):
    program(tmp_path / "bin/python3", VERSION.format("3.13.1"))
    for lacks in ("version_info", "ensurepip"):
        program(tmp_path / "distribution", f'[[ "$2" != *{lacks}* ]]')
        assert "with Python 3.13.1" in setup().stdout
