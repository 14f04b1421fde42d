"""What is published: the archive of the sources is whole, and the wheel made of it brings manuals and completions."""

import os
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest
from pins import PROJECT, ROOT

NAME = PROJECT["project"]["name"]
VERSION = PROJECT["project"]["version"]
STEM = f"{NAME.replace('-', '_')}-{VERSION}"
SHARED = {str(path.relative_to(ROOT / "share")) for path in (ROOT / "share").rglob("*") if path.is_file()}


@cache
def tracked():
    """The files of the checkout, as they are at first: other tests may make some."""
    listing = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(listing, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only git knows what belongs to the checkout, and this is none")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).exists()]


def build(what, source, target):
    """Runs the build backend as ``python -m build`` does, without the network."""
    hook = f"from setuptools.build_meta import *; build_{what}({str(target)!r})"
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    done = subprocess.run(
        [sys.executable, "-c", hook], cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The unpacked archive of the sources."""
    place = tmp_path_factory.mktemp("distribution")
    for name in tracked():
        (place / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place / "checkout" / name, follow_symlinks=False)
    build("sdist", place / "checkout", place)
    subprocess.run(["tar", "-xf", place / f"{STEM}.tar.gz", "-C", place], check=True)
    return place / STEM


@pytest.fixture(scope="module")
def wheel(sources):
    build("wheel", sources, sources.parent)
    with zipfile.ZipFile(sources.parent / f"{STEM}-py3-none-any.whl") as archive:
        yield archive


def test_the_archive_of_the_sources_has_every_file_of_the_checkout(sources):
    missing = [name for name in tracked() if not (sources / name).exists()]
    assert missing == []


def test_scripts_of_the_archive_can_be_run(sources):
    for name in ("scripts/setup", "scripts/docs", ".ci/run", "tests/systemd/with-systemd"):
        assert os.access(sources / name, os.X_OK), name


def test_the_wheel_made_of_the_archive_has_the_packages_whole(sources, wheel):
    homes = {"reactor": "reactor", "resources": "reactor/resources", "watchers": "reactor/watchers"}
    ours = {
        f"{home}/{path.relative_to(sources / top)}"
        for top, home in homes.items()
        for path in (sources / top).rglob("*")
        if path.is_file()
    }
    assert ours <= set(wheel.namelist())


def test_the_wheel_has_man_pages_and_completions_where_a_prefix_has_them(wheel):
    data = f"{STEM}.data/data/share/"
    assert {name.removeprefix(data) for name in wheel.namelist() if name.startswith(data)} == SHARED
    assert {Path(name).parts[0] for name in SHARED} == {"man", "bash-completion", "zsh", "fish"}


def test_command_and_import_name_are_not_those_of_the_index(wheel):
    scripts = wheel.read(f"{STEM}.dist-info/entry_points.txt").decode()
    assert "[console_scripts]\nreactor = reactor.cli:main\n" in scripts
    assert f"\nName: {NAME}\n" in wheel.read(f"{STEM}.dist-info/METADATA").decode()
