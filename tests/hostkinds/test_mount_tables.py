"""What /etc/fstab and the kernel say of mounts, and what is made of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.resources.mount.comparison import for_remount, is_same, missing
from reactor.resources.mount.fstab import Entry, entries_at, with_entry, without_entry
from reactor.resources.mount.mount_table import Mounted

TEXT = (
    "# made by hand   \n"
    "UUID=1234  /        ext4\tdefaults  0 1\r\n"
    "\n"
    "  # indented\n"
    "tmpfs /srv/a\\040b/ tmpfs size=1m,defaults\n"
    "host:/x /srv nfs nofail,x-systemd.automount 0 0 # says who\n"
    "swap none swap sw 0 0\n"
    "broken\n"
    "/dev/sdb1 /srv auto rw 1 nonsense"
)


@pytest.mark.parametrize(
    ("point", "entries"),
    [
        ("/", (Entry("UUID=1234", "/", "ext4", frozenset(), 0, 1),)),
        ("/srv/a b", (Entry("tmpfs", "/srv/a b", "tmpfs", frozenset({"size=1m"})),)),
        (
            "/srv",
            (
                Entry("host:/x", "/srv", "nfs", frozenset({"nofail", "x-systemd.automount"})),
                Entry("/dev/sdb1", "/srv", "auto", frozenset({"rw"}), 1, 0),
            ),
        ),
        ("/nowhere", ()),
    ],
)
def test_lines_are_found_by_their_mount_point(point, entries):
    assert entries_at(TEXT, point) == entries


def test_the_first_line_of_a_mount_point_is_replaced_and_the_others_go():
    entry = Entry("/dev/sdc1", "/srv", "xfs", frozenset({"ro", "noauto"}), 0, 2)
    lines = TEXT.split("\n")
    after = with_entry(TEXT, entry, ("ro", "noauto"))
    assert after == "\n".join([*lines[:5], "/dev/sdc1\t/srv\txfs\tro,noauto\t0\t2", *lines[6:8]])


lines = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30)
words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1).filter(
    str.strip
)


@given(st.lists(lines), st.booleans(), words, words)
def test_all_other_lines_stay_byte_for_byte(before, ends, device, name):
    text = "\n".join(before) + ("\n" if ends else "")
    entry = Entry(device, f"/srv/{name}", "ext4")
    if "/" in name or "." in name or entries_at(text, entry.point):
        return
    after = with_entry(text, entry, ())
    assert entries_at(after, entry.point) == (entry,)
    assert after.startswith(text)
    assert after.removeprefix(text).strip("\n").count("\n") == 0
    assert without_entry(after, entry.point).rstrip("\n") == text.rstrip("\n")
    assert with_entry(after, entry, ()) == after


DEFAULT = "rw relatime"


@pytest.mark.parametrize(
    ("wanted", "active", "fstype", "wrong"),
    [
        ("", DEFAULT, "ext4", ""),
        ("defaults,nofail,noauto,x-gvfs-show,_netdev,comment=x", DEFAULT, "ext4", ""),
        ("", "ro relatime", "ext4", "rw"),
        ("ro", DEFAULT, "ext4", "ro"),
        ("ro", "ro relatime", "ext4", ""),
        ("", "rw nosuid nodev noexec relatime", "ext4", "suid,dev,exec"),
        ("nosuid,suid", "rw relatime", "ext4", ""),
        ("noatime", DEFAULT, "ext4", "noatime"),
        ("", "rw noatime", "ext4", "relatime"),
        ("strictatime", "rw", "ext4", ""),
        ("atime", DEFAULT, "ext4", ""),
        ("user", "rw nosuid nodev noexec relatime", "ext4", ""),
        ("user,exec", "rw nosuid nodev relatime", "ext4", ""),
        ("owner", DEFAULT, "ext4", "nosuid,nodev"),
        ("sync", "rw relatime sync", "ext4", ""),
        ("", "rw relatime sync", "ext4", "async"),
        ("discard,acl", DEFAULT, "ext4", ""),
        ("size=1m", "rw relatime size=1024k", "tmpfs", ""),
        ("size=1m", "rw relatime size=2048k", "tmpfs", "size=1m"),
        ("size=1g", "rw relatime size=1048576k", "tmpfs", ""),
        ("size=50%", "rw relatime size=1024k", "tmpfs", ""),
        ("mode=0755", "rw relatime mode=755", "tmpfs", ""),
        ("mode=0700", "rw relatime mode=755", "tmpfs", "mode=0700"),
        ("mode=1777", "rw relatime", "tmpfs", ""),
        ("", "rw relatime mode=755,size=1k", "tmpfs", ""),
        ("uid=alice", "rw relatime uid=1000", "vfat", ""),
        ("uid=1001", "rw relatime uid=1000", "vfat", "uid=1001"),
        ("vers=4", "rw relatime vers=4.2", "nfs4", ""),
        ("vers=3", "rw relatime vers=4.2", "nfs4", "vers=3"),
        ("compress=zstd", "rw relatime compress=zstd:3", "btrfs", ""),
        ("errors=remount-ro", "rw relatime errors=continue", "ext4", "errors=remount-ro"),
        ("", "ro relatime", "iso9660", ""),
        ("", "rw nosuid nodev relatime", "fuse.sshfs", ""),
        ("noexec", "rw nosuid nodev relatime", "fuse.sshfs", "noexec"),
        ("bind", "rw nosuid noatime", "ext4", ""),
        ("bind,ro", "rw nosuid noatime", "ext4", "ro"),
        ("rbind,rw", "ro nosuid noatime", "ext4", "rw"),
    ],
)
def test_options_are_compared_in_the_words_of_the_kernel(wanted, active, fstype, wrong):
    options = tuple(filter(None, wanted.split(",")))
    assert ",".join(missing(options, frozenset(active.split()), fstype)) == wrong


@pytest.mark.parametrize(
    ("wanted", "fstype", "options"),
    [
        ((), "ext4", "remount,rw,suid,dev,exec,async,diratime,relatime"),
        (
            ("ro", "noatime", "size=1m", "nofail"),
            "tmpfs",
            "remount,ro,suid,dev,exec,async,diratime,noatime,size=1m,nofail",
        ),
        (("users",), "ext4", "remount,rw,nosuid,nodev,noexec,async,diratime,relatime"),
        (("bind", "ro", "nofail"), "ext4", "remount,bind,ro"),
    ],
)
def test_a_remount_leaves_no_flag_to_chance(wanted, fstype, options):
    assert for_remount(wanted, fstype) == options


@pytest.mark.parametrize(
    ("device", "fstype", "source", "active", "same"),
    [
        ("tmpfs", "tmpfs", "none", "tmpfs", True),
        ("tmpfs", "tmpfs", "none", "ramfs", False),
        ("/dev/null", "ext4", "/dev/null", "ext4", True),
        ("/dev/null", "ext4", "/dev/zero", "ext4", False),
        ("/dev/null", "auto", "/dev/null", "xfs", True),
        ("/dev/fd", "auto", "/proc/self/fd", "xfs", True),
        ("UUID=no-such-id", "ext4", "/dev/sda1", "ext4", True),
        ("server:/x/", "nfs", "server:/x", "nfs4", True),
        ("server:/x", "nfs", "server:/y", "nfs4", False),
        ("/srv/image", "ext4", "/dev/loop3", "ext4", True),
        ("me@host:", "fuse.sshfs", "me@host:/home", "fuse.sshfs", True),
    ],
)
async def test_a_device_is_known_by_what_the_kernel_calls_it(device, fstype, source, active, same):
    assert await is_same(device, fstype, frozenset(), Mounted(source, active, frozenset()), "/x") is same


async def test_a_bind_mount_is_known_by_what_it_shows(tmp_path):
    mounted = Mounted("/dev/vda1", "ext4", frozenset())
    bind = frozenset({"rbind"})
    assert await is_same("/usr", "none", bind, mounted, "/usr")
    assert not await is_same(str(tmp_path), "none", bind, mounted, "/usr")
    assert not await is_same("/nothing", "none", bind, mounted, "/usr")
