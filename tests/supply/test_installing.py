"""``scripts/setup`` against a place for packages that is not to be trusted: a directory here, instead of the network."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from pins import ROOT

PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "small"
version = "1"
dependencies = ["library>=1", "unlocked"]
"""

# Builds without any tool: what the network would give is the subject here.
BACKEND = """\
import zipfile

METADATA = "Metadata-Version: 2.1\\nName: small\\nVersion: 1\\nRequires-Dist: library>=1\\nRequires-Dist: unlocked\\n"

def build_wheel(directory, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(f"{directory}/small-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small.py", "")
        wheel.writestr("small-1.dist-info/METADATA", METADATA)
        wheel.writestr("small-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("small-1.dist-info/RECORD", "")
    return "small-1-py3-none-any.whl"

build_editable = build_wheel
"""


class Place:
    """A copy of the script in a small project, and the place that pip gets packages from."""

    def __init__(self, directory: Path) -> None:
        self.project, self.packages = directory / "project", directory / "packages"
        (self.project / "scripts").mkdir(parents=True)
        self.packages.mkdir()
        shutil.copy2(ROOT / "scripts/setup", self.project / "scripts")
        (self.project / "pyproject.toml").write_text(PROJECT)
        (self.project / "backend.py").write_text(BACKEND)

    def offer_wheel(self, name="library", version="1", code="") -> str:
        """Put a wheel of one module there. Returns its hash."""
        path = self.packages / f"{name}-{version}-py3-none-any.whl"
        information = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"{name}.py", code)
            wheel.writestr(
                f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            )
            wheel.writestr(
                f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{information}/RECORD", "")
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def offer_source(self, witness: Path) -> str:
        """Put a source archive there whose build writes ``witness``. Returns its hash."""
        source = self.packages / "library-1"
        source.mkdir()
        (source / "setup.py").write_text(f"open({str(witness)!r}, 'w')")
        (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: library\nVersion: 1\n")
        path = self.packages / "library-1.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            archive.add(source, "library-1")
        shutil.rmtree(source)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def lock(self, *hashes: str) -> None:
        """Lock version 1 of the library to these hashes."""
        text = " ".join(["library==1", *(f"--hash=sha256:{each}" for each in hashes)])
        for name in ("requirements.lock", "requirements-dev.lock"):
            (self.project / name).write_text(f"{text}\n")

    def set_up(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        return subprocess.run(
            [self.project / "scripts/setup"],
            env=environment
            | {
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": str(self.packages),
                "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            }
            | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
            | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def installed(self) -> set[str]:
        """The modules that are there of what is known here."""
        return {path.stem for path in self.project.glob("*venv/lib/python*/site-packages/*.py")} & {
            "library",
            "small",
            "unlocked",
        }

    def left(self) -> set[str]:
        """What is in the checkout besides what was put there."""
        return {path.name for path in self.project.iterdir()} - {
            "scripts", "pyproject.toml", "backend.py", "requirements.lock", "requirements-dev.lock",
        }  # fmt: skip


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A place with an environment: to make one takes seconds. Each test leaves it as good as new."""
    place = Place(tmp_path_factory.mktemp("made"))
    place.lock(place.offer_wheel())
    place.offer_wheel(version="2", code="newer = True")
    place.offer_wheel("unlocked")
    done = place.set_up()
    assert done.returncode == 0, done.stderr
    return place


def test_what_is_locked_is_installed_and_nothing_newer_and_nothing_else(made):
    assert made.installed() == {"library", "small"}
    (module,) = made.project.glob(".venv/lib/python*/site-packages/library.py")
    assert module.read_text() == ""
    assert made.left() - {"__pycache__"} == {".venv"}


def test_the_environment_can_be_made_elsewhere_and_of_a_named_python_and_progress_is_reported(place):
    place.lock(place.offer_wheel())
    variables = {"REACTOR_VENV": "othervenv", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    done = place.set_up(PYTHON=sys.executable, **variables)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == [
        "makes",
        "installs",
        "installs",
        "done:",
    ]
    assert f"Python {platform.python_version()}" in done.stdout
    assert place.installed() == {"library", "small"}
    assert not (place.project / ".venv").exists()


def test_the_name_of_earlier_versions_is_uninstalled_and_an_environment_of_another_python_made_anew(made):
    stale = made.project / ".venv/stale"
    stale.touch()
    (site,) = made.project.glob(".venv/lib/python3*/site-packages")
    former = site / "reactor-0.1.0.dist-info"
    former.mkdir()
    (former / "METADATA").write_text("Metadata-Version: 2.1\nName: reactor\nVersion: 0.1.0\n")
    (former / "RECORD").write_text("reactor-0.1.0.dist-info/METADATA,,\nreactor-0.1.0.dist-info/RECORD,,\n")
    done = made.set_up()
    assert done.returncode == 0, done.stderr
    assert not former.exists()
    assert stale.exists()

    python = made.project / ".venv/bin/python"
    python.unlink()
    python.write_text("#!/bin/sh\necho /usr 3.9.2\n")
    python.chmod(0o755)
    done = made.set_up()
    assert done.returncode == 0, done.stderr
    assert not stale.exists()
    assert made.installed() == {"library", "small"}


def test_a_file_with_another_hash_than_the_lock_has_is_not_installed(place):
    place.lock(place.offer_wheel())
    place.offer_wheel(code="forged = True")
    done = place.set_up()
    assert done.returncode != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
    assert place.installed() == set()


def test_no_code_of_a_library_runs_to_install_it(place, tmp_path):
    witness = tmp_path / "ran"
    place.lock(place.offer_source(witness))
    done = place.set_up()
    assert done.returncode != 0
    assert "No matching distribution found for library==1" in done.stderr
    assert not witness.exists()
    assert place.installed() == set()
