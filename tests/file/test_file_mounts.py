"""Which mounted file systems belong to the host, and what is reported about the directories below the others."""

import os
import subprocess
from pathlib import Path

import pytest
from namespaces import run_in_namespaces

from reactor.resources.file import mounts


@pytest.fixture
def fstab(tmp_path, monkeypatch):
    """Write an fstab of the test; no unit mounts anything."""
    monkeypatch.setattr(mounts, "_UNITS", ())
    monkeypatch.setattr(mounts, "_FSTAB", str(tmp_path / "fstab"))
    return (tmp_path / "fstab").write_text


def is_always_mounted(path: Path) -> bool:
    fd = os.open(path, os.O_PATH)
    try:
        return mounts.is_always_mounted(str(path), fd)
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    ("line", "is_named"),
    [
        ("tmpfs {point} tmpfs defaults 0 0", True),
        ("tmpfs {point}/ tmpfs", True),
        ("tmpfs {point}", True),
        ("tmpfs {point}/below tmpfs", False),
        ("{point}", False),
        ("#tmpfs {point} tmpfs", False),
        ("# {point} tmpfs", False),
        ("\n/dev/vda1 / ext4\n\ntmpfs\t{point}\ttmpfs\n", True),
    ],
)
def test_a_mount_point_in_fstab_is_always_mounted(tmp_path, fstab, line, is_named):
    fstab(line.format(point=tmp_path))
    assert is_always_mounted(tmp_path) is is_named


def test_a_blank_in_a_mount_point_is_octal_in_fstab(tmp_path, fstab):
    point = tmp_path / "two words"
    point.mkdir()
    fstab(f"tmpfs {tmp_path}/two\\040words tmpfs")
    assert is_always_mounted(point)


def test_a_mount_point_in_fstab_is_found_by_another_name_of_the_directory(tmp_path, fstab):
    (tmp_path / "point").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    fstab(f"tmpfs {tmp_path}/point tmpfs")
    assert is_always_mounted(tmp_path / "link" / "point")


def test_without_fstab_and_units_only_the_mounts_of_the_kernel_are_always_there(tmp_path, fstab):
    del fstab
    found = {
        path: is_always_mounted(Path(path)) for path in ("/", "/proc", "/dev/fd/..", "/run", str(tmp_path))
    }
    assert found == {"/": True, "/proc": True, "/dev/fd/..": True, "/run": True, str(tmp_path): False}


def test_a_directory_beside_those_of_the_kernel_is_no_mount_of_the_kernel(tmp_path, fstab, monkeypatch):
    del fstab
    monkeypatch.setattr(mounts, "_OF_THE_KERNEL", (f"{tmp_path}/run",))
    for name in ("run", "runner"):
        (tmp_path / name).mkdir()
    assert is_always_mounted(tmp_path / "run")
    assert not is_always_mounted(tmp_path / "runner")


@pytest.mark.parametrize("kind", ["file", "dangling symlink"])
def test_a_mount_with_a_unit_is_always_mounted(tmp_path, fstab, monkeypatch, kind):
    fstab("")
    units = tmp_path / "units"
    units.mkdir()
    monkeypatch.setattr(mounts, "_UNITS", (f"{tmp_path}/none", str(units)))
    assert not is_always_mounted(tmp_path)
    unit = units / mounts.unit_of(str(tmp_path))
    unit.touch() if kind == "file" else unit.symlink_to("nowhere")
    assert is_always_mounted(tmp_path)


def test_a_unit_has_the_name_that_systemd_escape_gives():
    paths = ["/", "/srv", "/srv/a-b_c:d.9", "/.hidden/.x", "/a b/ä\\x", "/~/@{}[]=+,;", "/Ünter/%n$"]
    command = ["systemd-escape", "--path", "--suffix=mount", *paths]
    escaped = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [mounts.unit_of(path) for path in paths] == escaped


COVERED = """
import os, subprocess, sys, trio
from reactor.engine.events import Noted
from reactor.resources.file import File
from reactor.testing.story import converge_once
root = sys.argv[1]
def mounted(name, mode):
    point = f"{root}/{name}"
    os.mkdir(point, 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode={mode}", "none", point], check=True)
    return point
def check(point, **more):
    own = dict(owner=str(os.getuid()), group=str(os.getgid()), mode="0750")
    ended, story = trio.run(lambda: converge_once(File(name=point, ensure="directory", **own, **more)))
    notes = sum("an unexpected file system is mounted on the directory" in each.line for each in story.all(Noted))
    print(ended.changes, f"{os.stat(point).st_mode & 0o7777:o}", notes)
check(mounted("other", "711"))
check(mounted("same", "750"))
check(mounted("root", "711"), mounted_root=True)
os.mkdir(f"{root}/none", 0o711)
check(f"{root}/none")
"""


def test_a_covered_directory_is_reported_only_if_its_attributes_differ_and_are_not_those_meant(tmp_path):
    lines = run_in_namespaces(COVERED, str(tmp_path))
    assert lines == ["0 711 1", "0 750 0", "1 750 0", "1 750 0"]
