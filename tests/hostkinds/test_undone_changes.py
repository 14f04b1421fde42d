"""What somebody else undoes between the apply and the look after it, on accounts, mounts, parameters and names."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest
from foreign_writer import assert_repaired_after_foreign_writer
from hostkinds_worlds import line, shell

from reactor.resources.accounts import Group, User
from reactor.resources.hostname import Hostname
from reactor.resources.mount import Mount
from reactor.resources.mount.mount_table import mounts_at
from reactor.resources.sysctl import Sysctl

FEW = 5
"""Rounds of programs that take their time; they are no fight yet."""
FSTAB = Path("/etc/fstab")


@pytest.mark.parametrize(
    ("before", "wanted", "undo"),
    [
        ("", {}, "userdel alice"),
        ("useradd alice", {"ensure": "absent"}, "useradd alice"),
        ("useradd -s /bin/false alice", {"shell": "/bin/sh"}, "usermod -s /bin/false alice"),
        ("useradd alice", {"groups": ["staff"]}, "gpasswd -d alice staff >/dev/null"),
        ("useradd alice", {"password": "$5$salt$abcdefgh"}, "usermod -p '*' alice"),
    ],
)
@pytest.mark.parametrize("at_once", [False, True])
async def test_an_account_undone_by_others_is_drift_again(before, wanted, undo, at_once):
    shell(before or ":")
    ours = User(name="alice", **wanted)
    await assert_repaired_after_foreign_writer(ours, lambda: shell(undo), FEW, at_once=at_once)
    assert (line("passwd", "alice") is None) is (wanted.get("ensure") == "absent")


@pytest.mark.parametrize(
    ("before", "wanted", "undo"),
    [
        ("", {}, "groupdel web"),
        ("groupadd -g 777 web", {"gid": 1500}, "groupmod -g 777 web"),
        ("groupadd web; useradd alice", {"members": ["alice"]}, "gpasswd -d alice web >/dev/null"),
    ],
)
async def test_a_group_undone_by_others_is_drift_again(before, wanted, undo):
    shell(before or ":")
    await assert_repaired_after_foreign_writer(Group(name="web", **wanted), lambda: shell(undo), FEW)


async def test_a_line_of_fstab_undone_by_others_is_flapping_and_not_a_failure():
    before = FSTAB.read_text()
    ours = Mount(name="/mnt", ensure="present", device="tmpfs", fstype="tmpfs")
    await assert_repaired_after_foreign_writer(ours, lambda: FSTAB.write_text(before))
    assert "/mnt" in FSTAB.read_text()


@pytest.mark.parametrize(
    "undo", ['umount "$1"', 'mount -o remount,exec "$1"', 'mount -t ramfs ram "$1"'], ids=lambda words: words
)
async def test_a_mount_undone_by_others_is_drift_again(tmp_path, undo):
    ours = Mount(name=str(tmp_path), device="tmpfs", fstype="tmpfs", options="noexec")
    await assert_repaired_after_foreign_writer(ours, lambda: shell(undo, tmp_path), FEW)
    (mounted,) = mounts_at(str(tmp_path))
    assert "noexec" in mounted.options
    subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_parameter_undone_by_others_is_flapping_and_not_a_failure(at_once):
    key = Path("/proc/sys/net/ipv4/ip_forward")
    key.write_text("0")
    ours = Sysctl(name="net.ipv4.ip_forward", value="1", persist=False)
    await assert_repaired_after_foreign_writer(ours, lambda: key.write_text("0"), at_once=at_once)
    assert key.read_text() == "1\n"


async def test_a_host_name_undone_by_others_is_flapping_and_not_a_failure():
    def undo():
        Path("/etc/hostname").write_text("theirs\n")
        socket.sethostname("theirs")

    await assert_repaired_after_foreign_writer(Hostname(name="ours"), undo)
    assert Path("/etc/hostname").read_text() == "ours\n"
