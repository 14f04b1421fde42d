"""Types of file systems that a host can't mount are known before: from tables of the kernel, here also of other hosts."""

from __future__ import annotations

import os

import pytest
from one_shot import checked

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.exec import Exec
from reactor.resources.mount import Mount
from reactor.resources.mount.fstypes import is_unknown
from reactor.testing.story import converge_once

_HERE = "reactor.resources.mount.fstypes."


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host whose kernel has ext4 and fuse, a module for xfs, and a program that mounts nfs."""
    files = {
        "filesystems": "nodev\ttmpfs\nnodev\tfuse\n\text4\n",
        "kernel/modprobe": "/sbin/modprobe\n",
        "kernel/modules_disabled": "0\n",
        f"modules/{os.uname().release}/modules.alias": "alias fs-xfs xfs\nalias fs-odd_name odd\n",
        "modprobe.d/own.conf": "alias fs-ours ours-module\n",
        "sbin/mount.nfs": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "sbin/mount.nfs").chmod(0o755)
    places = {
        "_REGISTERED": f"{tmp_path}/filesystems",
        "_KERNEL_SETTINGS": f"{tmp_path}/kernel",
        "_MODULES": f"{tmp_path}/modules",
        "_MODULE_CONFIGURATION": (f"{tmp_path}/modprobe.d",),
        "_HELPERS": (f"{tmp_path}/sbin",),
    }
    for name, value in places.items():
        monkeypatch.setattr(_HERE + name, value)
    return tmp_path


@pytest.mark.parametrize(
    "fstype", ["ext4", "tmpfs", "fuse.sshfs", "xfs", "odd-name", "odd_name", "ours", "nfs", "auto", "none"]
)
def test_what_the_kernel_a_module_or_a_program_knows_is_known(host, fstype):
    assert not is_unknown(fstype)


@pytest.mark.parametrize("fstype", ["nosuchfs", "ext", "xf", "nfs5", "etx4"])
def test_what_none_of_them_knows_is_unknown(host, fstype):
    assert is_unknown(fstype)


@pytest.mark.parametrize("why", ["no list of modules", "no settings of the kernel"])
def test_where_the_modules_can_not_be_seen_nothing_is_unknown(host, why):
    if why == "no list of modules":
        (host / "modules" / os.uname().release / "modules.alias").unlink()
    else:
        (host / "kernel").rename(host / "hidden")
    assert not is_unknown("nosuchfs")


@pytest.mark.parametrize("why", ["built without", "switched off", "no program"])
def test_a_kernel_that_loads_no_modules_knows_only_its_own(host, why):
    (host / "modules" / os.uname().release / "modules.alias").unlink()
    match why:
        case "built without":
            (host / "kernel/modprobe").unlink()
        case "switched off":
            (host / "kernel/modules_disabled").write_text("1\n")
        case "no program":
            (host / "kernel/modprobe").write_text("\n")
    assert is_unknown("xfs")
    assert not is_unknown("ext4")


@pytest.mark.parametrize("noop", [True, False])
async def test_a_rehearsal_fails_as_the_run_does(host, tmp_path, noop):
    (tmp_path / "point").mkdir()
    mount = Mount(name=str(tmp_path / "point"), device="tmpfs", fstype="nosuchfs")
    check = await checked(mount, noop=noop)
    assert check.result is Result.FAILED
    if noop:  # mount(8) itself blames the device
        assert "'nosuchfs'" in check.error


async def test_a_rehearsal_waits_for_a_resource_that_may_bring_the_type(host, tmp_path):
    (tmp_path / "point").mkdir()
    mount = Mount(name=str(tmp_path / "point"), device="tmpfs", fstype="nosuchfs", require=("exec#install",))
    _, story = await converge_once(
        Exec(name="install", command="/bin/true"), mount, options=RunOptions(noop=True)
    )
    assert story.result(mount.ref) is Result.WOULD_CHANGE


async def test_the_type_of_a_bind_mount_does_not_matter(host, tmp_path):
    (tmp_path / "point").mkdir()
    (tmp_path / "source").mkdir()
    mount = Mount(
        name=str(tmp_path / "point"), device=str(tmp_path / "source"), fstype="nosuchfs", options="bind"
    )
    _, story = await converge_once(mount, options=RunOptions(noop=True))
    assert story.result(mount.ref) is Result.WOULD_CHANGE
