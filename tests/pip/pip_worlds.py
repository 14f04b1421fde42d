"""Packages of Python that are made on the spot, and environments to put them into."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

PYTHON = f"python3.{sys.version_info.minor}"


def make_wheel(directory: Path, name: str, version: str, needs: str | None = None) -> Path:
    """A package with one module, which says its version. Returns the path of the wheel."""
    path = directory / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    needed = f"Requires-Dist: {needs}\n" if needs else ""
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{each},,\n" for each in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as wheel:
        for each, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(each, text)
    return path


def make_index(directory: Path) -> Path:
    """A directory of packages: one in two versions, two, and three, which needs one."""
    directory.mkdir(parents=True, exist_ok=True)
    for version in ("1.0", "2.0"):
        make_wheel(directory, "one", version)
    make_wheel(directory, "two_words", "1.5")
    make_wheel(directory, "three", "3.0", "one<2")
    return directory


def make_template(directory: Path) -> Path:
    """An environment to copy: making one takes seconds."""
    subprocess.run(["python3", "-m", "venv", directory], check=True)
    return directory


def copy_template(template: Path, path: Path) -> None:
    shutil.copytree(template, path, symlinks=True)


def unpack(wheel: Path, venv: Path) -> None:
    """Install a wheel without pip, as nothing in it has to be built."""
    [packages] = venv.glob("lib/python3*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    [info] = packages.glob(f"{wheel.name.split('-')[0]}-*.dist-info")
    (info / "INSTALLER").write_text("pip\n")


def packages_of(venv: Path) -> dict[str, str]:
    """What the Python of the environment finds, without pip and setuptools."""
    script = "import importlib.metadata as m; print(*(f'{d.name}={d.version}' for d in m.distributions()))"
    said = subprocess.run(
        [venv / "bin/python", "-I", "-c", script], capture_output=True, text=True, check=True
    )
    found = dict(word.split("=") for word in said.stdout.split())
    return {
        name: version for name, version in found.items() if name not in ("None", "pip", "setuptools", "wheel")
    }
