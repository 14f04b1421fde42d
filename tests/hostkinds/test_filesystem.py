"""The kind filesystem, by the real mkfs, blkid and resize2fs on files; what needs a device uses a loop device."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import one_shot
import pytest
from property_problems import the_problem

from reactor.engine.events import Result
from reactor.resources.filesystem import Filesystem
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import running
from reactor.watchers.uevents import device_of

UUID = "3e6be9de-8139-11d1-9106-a43f08d823a6"
SIZES = {"ext2": 2, "ext3": 8, "ext4": 8, "vfat": 2, "swap": 2, "btrfs": 128, "xfs": 320}
MIB = 1 << 20


@pytest.fixture
def disk(tmp_path):
    """A blank disk: a sparse file of root."""
    return blank(tmp_path / "disk", 8)


def blank(path, mib):
    with path.open("wb") as file:
        file.truncate(mib * MIB)
    path.chmod(0o600)
    return path


def said(path, key):
    done = subprocess.run(
        ["blkid", "-p", "-o", "value", "-s", key, path], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


async def converge(path, *, noop=False, **properties):
    resource = Filesystem(name=str(path), **properties)
    return await one_shot.converged(resource, noop=noop)


must_change = partial(one_shot.must_change, converge, is_literal=False)


async def must_fail(path, **properties):
    def seen():
        return path.read_bytes() if path.exists() else None

    words = await one_shot.must_fail(converge, path, seen=seen, **properties)
    assert not [name for name in os.listdir(path.parent) if name.endswith("-new")]
    return words


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_contract(promise, disk):
    def spoil():
        subprocess.run(["tune2fs", "-L", "other", disk], check=True, capture_output=True)

    def world():
        return said(disk, "TYPE"), said(disk, "LABEL")

    await promise(Case(lambda: Filesystem(name=str(disk), label="data"), world, spoil))


@pytest.mark.parametrize("fstype", SIZES)
async def test_it_is_made_on_a_blank_disk_with_label_and_uuid(fstype, tmp_path):
    disk = blank(tmp_path / "disk", SIZES[fstype])
    uuid = "1A2B-3C4D" if fstype == "vfat" else UUID
    did = await must_change(disk, fstype=fstype, label="DATA", uuid=uuid)
    assert did == f"made {fstype}"
    assert (said(disk, "TYPE"), said(disk, "LABEL"), said(disk, "UUID")) == (fstype, "DATA", uuid)
    assert (
        await must_change(disk, fstype=fstype, label="OTHER", uuid=uuid)
        == "set the label 'OTHER' in place of 'DATA'"
    )
    assert (said(disk, "LABEL"), said(disk, "UUID")) == ("OTHER", uuid)


async def test_what_is_not_blank_is_left_alone_without_force(disk):
    subprocess.run(["mkswap", disk], check=True, capture_output=True)
    assert "is not blank: it holds swap" in await must_fail(disk)
    assert await must_change(disk, force=True) == "made ext4 in place of swap"
    assert said(disk, "TYPE") == "ext4"


async def test_a_table_of_partitions_is_not_blank(disk):
    # A boot sector with one partition, as the first sector of the disk.
    entry = bytes([0, 0, 2, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(4, "little") + (8192).to_bytes(4, "little")
    with disk.open("r+b") as file:
        file.write(bytes(446) + entry + bytes(48) + b"\x55\xaa")
    assert "it holds a table of partitions (dos)" in await must_fail(disk)


async def test_another_uuid_is_refused_and_never_set_on_what_is_there(disk):
    await must_change(disk, uuid=UUID)
    words = await must_fail(disk, uuid=UUID.replace("3e", "4e"), force=True)
    assert f"has the UUID {UUID}" in words


async def test_a_missing_device_is_an_error(tmp_path):
    assert "does not exist" in await must_fail(tmp_path / "none")


async def test_a_file_is_created_whole_and_only_for_root(tmp_path):
    path = tmp_path / "swapfile"
    (tmp_path / ".swapfile.reactor-new").write_text("left by an interrupted run")
    assert await must_change(path, fstype="swap", size="2M") == "created the file with swap"
    found = path.stat()
    assert (found.st_size, found.st_mode & 0o777, found.st_blocks * 512 >= 2 * MIB) == (2 * MIB, 0o600, True)
    assert said(path, "TYPE") == "swap"
    assert os.listdir(tmp_path) == ["swapfile"]


async def test_a_file_that_does_not_fit_is_refused_before(tmp_path):
    assert "there is no room" in await must_fail(tmp_path / "big", size="900T")


async def test_options_that_mkfs_refuses_leave_no_file(tmp_path):
    path = tmp_path / "disk"
    result, words = await converge(path, size="8M", options=["-O", "nonsense"])
    assert result is Result.FAILED
    assert "mkfs.ext4 failed" in words
    assert os.listdir(tmp_path) == []


async def test_a_file_of_other_users_is_refused(disk):
    disk.chmod(0o666)
    assert "users other than root may write" in await must_fail(disk)


async def test_a_file_that_others_could_replace_is_refused(tmp_path):
    there = tmp_path / "theirs"
    there.mkdir()
    os.chown(there, 1234, 1234)
    assert "could replace" in await must_fail(blank(there / "disk", 8))
    assert "could replace" in await must_fail(there / "new", size="2M")


async def test_a_link_of_another_user_is_not_followed(tmp_path, disk):
    there = tmp_path / "theirs"
    there.mkdir()
    (there / "disk").symlink_to(disk)
    os.chown(there, 1234, 1234)
    os.chown(there / "disk", 1234, 1234, follow_symlinks=False)
    before = disk.read_bytes()
    result, _ = await converge(there / "disk")
    assert result is Result.FAILED
    assert disk.read_bytes() == before


async def test_what_is_no_device_is_refused(tmp_path):
    (tmp_path / "directory").mkdir()
    assert (await converge(tmp_path / "directory"))[0] is Result.FAILED
    assert "is not a device or file" in (await converge("/dev/null"))[1]


@pytest.mark.parametrize("fstype", ["ext2", "ext4"])
@pytest.mark.parametrize("mib", [9, 24, 200])
async def test_it_grows_with_its_device(fstype, mib, disk):
    await must_change(disk, fstype=fstype)
    os.truncate(disk, mib * MIB)
    assert await converge(disk, fstype=fstype) == (Result.OK, "")
    before = blocks(disk)
    if mib > 9:
        assert await must_change(disk, fstype=fstype, resize=True) == "grew it to the size of its device"
    else:
        await converge(disk, fstype=fstype, resize=True)
        assert await converge(disk, fstype=fstype, resize=True) == (Result.OK, "")
    assert blocks(disk) > before
    assert subprocess.run(["e2fsck", "-f", "-n", disk], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("fstype", ["xfs", "btrfs"])
@pytest.mark.parametrize("is_mounted", [False, True])
async def test_one_that_only_grows_while_it_is_mounted_grows_too(fstype, is_mounted, tmp_path):
    disk, point = blank(tmp_path / "disk", SIZES[fstype]), tmp_path / "point"
    point.mkdir()
    await converge(disk, fstype=fstype)
    os.truncate(disk, 2 * SIZES[fstype] * MIB)
    with attached(disk) if is_mounted else nullcontext(disk) as device:
        if device is None:  # a container
            return
        if is_mounted:
            subprocess.run(["mount", device, point], check=True)
            assert "is in use by" in (await converge(disk, fstype=fstype, resize=True))[1]
        try:
            wanted = {"fstype": fstype, "resize": True}
            assert await converge(device, fstype=fstype) == (Result.OK, "")
            assert await must_change(device, **wanted) == "grew it to the size of its device"
            assert not is_mounted or size_at(point) > 1.5 * SIZES[fstype] * MIB
        finally:
            if is_mounted:
                subprocess.run(["umount", point], check=True)
    subprocess.run(["mount", "-o", "loop", disk, point], check=True)
    try:
        assert size_at(point) > 1.5 * SIZES[fstype] * MIB
    finally:
        subprocess.run(["umount", point], check=True)


def size_at(point):
    found = os.statvfs(point)
    return found.f_blocks * found.f_frsize


async def test_drift_is_noticed_by_its_event(disk):
    resource = Filesystem(name=str(disk), label="data")
    async with running(resource) as story:
        await story.converged()
        subprocess.run(["tune2fs", "-L", "other", disk], check=True, capture_output=True)
        await story.until(lambda: said(disk, "LABEL") == "data")


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"label": "longer than sixteen"}, "the label is longer than the 16 bytes"),
        ({"label": "-F"}, "is not a label"),
        ({"uuid": "1A2B-3C4D"}, "is not a UUID of ext4"),
        ({"uuid": UUID, "fstype": "vfat"}, "is not a UUID of vfat"),
        ({"resize": True, "fstype": "vfat"}, "resize does not grow vfat"),
        ({"options": ["-qF"]}, "overwrite what the device holds"),
        ({"options": ["-f"], "fstype": "xfs"}, "overwrite what the device holds"),
        ({"options": ["/dev/sdb"]}, "is not an option"),
        ({"size": "1k"}, "greater than or equal to"),
    ],
)
def test_a_contradictory_declaration_is_an_error(properties, words):
    assert words in the_problem(Filesystem, name="/dev/sdz", **properties).message


def test_events_name_their_device():
    event = b"change@/devices/virtual/block/loop7\0ACTION=change\0SUBSYSTEM=block\0MAJOR=7\0MINOR=7\0DEVNAME=loop7\0SEQNUM=9\0"
    assert device_of(event) == "/dev/loop7"
    assert device_of(event.replace(b"block\0", b"tty\0")) is None
    assert device_of(b"") is None


async def test_an_event_of_the_kernel_leads_to_a_check(disk):
    resource = Filesystem(name=str(disk))
    async with running(resource) as story:
        await story.converged()
        await story.rest()
        before = len(story.checks(resource.ref))
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15) as kernel:
            message = f"change@/devices/x\0ACTION=change\0SUBSYSTEM=block\0DEVNAME={disk}\0"
            kernel.sendto(message.encode(), (0, 1))
        await story.until(lambda: len(story.checks(resource.ref)) > before)


@contextmanager
def attached(disk):
    """A loop device on the disk; None on a host without them, such as a container."""
    device = None
    if Path("/dev/loop-control").exists():
        done = subprocess.run(
            ["losetup", "--find", "--show", disk], capture_output=True, text=True, check=True
        )
        device = done.stdout.strip()
    try:
        yield device
    finally:
        if device is not None:
            subprocess.run(["losetup", "--detach", device], check=True)


@pytest.fixture
def loop(disk):
    with attached(disk) as device:
        yield device


async def test_what_is_in_use_is_never_overwritten(disk, loop, tmp_path):
    if loop is None:  # a container: then there is no device that could be in use
        return
    for force in (False, True):
        assert f"is in use by {loop}" in await must_fail(disk, force=force)
    loop_path = Path(loop)
    await must_change(loop_path)
    (tmp_path / "point").mkdir()
    subprocess.run(["mount", loop, tmp_path / "point"], check=True)
    try:
        assert await must_change(loop_path, label="mounted") == "set the label 'mounted'"
        # a mounted ext4 that may be written goes on with its inode tables by itself
        subprocess.run(["mount", "-o", "remount,ro", tmp_path / "point"], check=True)
        assert f"is mounted at {tmp_path}/point" in await must_fail(loop_path, fstype="swap", force=True)
    finally:
        subprocess.run(["umount", tmp_path / "point"], check=True)


async def test_a_device_that_grows_is_announced(disk, loop):
    if loop is None:
        return
    async with running(Filesystem(name=loop, resize=True)) as story:
        await story.converged()
        os.truncate(disk, 100 * MIB)
        subprocess.run(["losetup", "--set-capacity", loop], check=True)
        await story.until(lambda: blocks(loop) > 80 * MIB // 1024)


def blocks(path):
    """The size of an ext file system, in blocks of 1 KiB."""
    done = subprocess.run(["dumpe2fs", "-h", path], capture_output=True, text=True, check=False)
    return int(done.stdout.split("Block count:")[1].split()[0]) if "Block count:" in done.stdout else 0
