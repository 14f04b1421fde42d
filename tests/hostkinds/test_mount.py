"""The kind mount, in a mount namespace: real mounts, and an /etc/fstab of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone, shell
from one_shot import checked

from reactor import TimerWatch
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.mountinfo import read_mounts
from reactor.resource.plan import ResourceError
from reactor.resources.exec import Exec
from reactor.resources.file import File
from reactor.resources.filesystem import Filesystem
from reactor.resources.mount import Mount
from reactor.resources.mount.comparison import missing
from reactor.resources.mount.fstab import Entry, entries_at
from reactor.resources.mount.mount_table import Mounted, mounts_at
from reactor.resources.mount.planner import plan_mount
from reactor.resources.mount.state import Desired, MountState
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, graph_of, running

FSTAB = Path("/etc/fstab")
TMPFS = {"device": "tmpfs", "fstype": "tmpfs"}


@pytest.fixture
def point(tmp_path):
    """A mount point with a space in its name, as some have."""
    path = tmp_path / "mount point"
    path.mkdir()
    yield path
    while mounts_at(str(path)):
        subprocess.run(["umount", "--lazy", path], check=True)


def world(point):
    return FSTAB.read_text(), mounts_at(str(point)), point.is_dir()


def sized(point, **properties):
    wanted = {**TMPFS, "options": "size=1m,mode=0750,noexec,nofail", **properties}
    return Mount(name=str(point), **wanted)


def a_tmpfs(point):
    return Case(lambda: sized(point), lambda: world(point), lambda: shell('umount "$1"', point))


def a_bind_mount(point):
    source = point.parent / "source"
    source.mkdir()
    (source / "file").touch()

    def make():
        return Mount(name=str(point), device=str(source), fstype="none", options=("bind", "ro"))

    return Case(make, lambda: world(point), lambda: shell('mount -o remount,bind,rw "$1"', point))


def a_line(point):
    def make():
        return sized(point, ensure="present")

    return Case(make, lambda: world(point), lambda: shell("sed -i '$d' /etc/fstab"))


def unmounted(point):
    shell('mount -t tmpfs one "$1"; mount -t tmpfs two "$1"', point)

    def make():
        return sized(point, ensure="unmounted")

    return Case(make, lambda: world(point), lambda: shell('mount -t tmpfs three "$1"', point))


def absent(point):
    shell('mount -t tmpfs one "$1"', point)
    with FSTAB.open("a") as file:
        file.write(f"none {str(point).replace(' ', chr(92) + '040')} tmpfs defaults\n")

    def make():
        return Mount(name=str(point), ensure="absent")

    return Case(make, lambda: world(point), lambda: shell('mount -t tmpfs two "$1"', point))


CASES = [a_tmpfs, a_bind_mount, a_line, unmounted, absent]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_mount_kind_keeps_the_contract(promise, case, point):
    await promise(case(point))


ENTRY = Entry("/dev/sdb1", "/srv", "ext4", frozenset({"noatime"}), 0, 2)
OTHER = ENTRY._replace(options=frozenset())
GOOD = Mounted("/dev/sdb1", "ext4", frozenset({"rw", "noatime"}))
READ_ONLY = Mounted("/dev/sdb1", "ext4", frozenset({"ro", "relatime"}))
FOREIGN = Mounted("/dev/sdc1", "xfs", frozenset({"rw"}))
ADD, UPDATE = "added it to /etc/fstab", "updated its line in /etc/fstab"
REMOVE = "removed it from /etc/fstab"


@pytest.mark.parametrize(
    ("ensure", "state", "steps"),
    [
        ("mounted", MountState((ENTRY,), (GOOD,)), []),
        ("mounted", MountState((), ()), ["mounted /dev/sdb1", ADD]),
        ("mounted", MountState((ENTRY,), ()), ["mounted /dev/sdb1"]),
        ("mounted", MountState((), (GOOD,)), [ADD]),
        ("mounted", MountState((OTHER,), (GOOD,)), [UPDATE]),
        ("mounted", MountState((ENTRY, OTHER), (GOOD,)), [UPDATE]),
        ("mounted", MountState((ENTRY,), (READ_ONLY,)), ["remounted with rw,noatime"]),
        ("mounted", MountState((ENTRY,), (READ_ONLY, GOOD)), []),
        (
            "mounted",
            MountState((ENTRY,), (FOREIGN,), same_device=False),
            ["mounted /dev/sdb1 in place of /dev/sdc1 (xfs)"],
        ),
        ("present", MountState((), ()), [ADD]),
        ("present", MountState((), (FOREIGN,)), [ADD]),
        ("present", MountState((ENTRY,), (READ_ONLY,)), []),
        ("unmounted", MountState((ENTRY,), ()), []),
        ("unmounted", MountState((), ()), [ADD]),
        ("unmounted", MountState((ENTRY,), (FOREIGN,)), ["unmounted it"]),
        ("unmounted", MountState((OTHER,), (FOREIGN, GOOD)), ["unmounted it, 2 times", UPDATE]),
        ("absent", MountState((), ()), []),
        ("absent", MountState((OTHER,), ()), [REMOVE]),
        ("absent", MountState((), (GOOD,)), ["unmounted it"]),
        ("absent", MountState((ENTRY, OTHER), (GOOD,)), ["unmounted it", REMOVE]),
    ],
)
def test_each_state_leads_to_its_plan(ensure, state, steps):
    plan = plan_mount(Desired(ensure, ENTRY, ("noatime",)), state)
    assert [action.did for action in plan] == steps
    assert [action.would for action in plan] == [f"Would have {step}" for step in steps]


@pytest.mark.parametrize(
    "spoil",
    [
        'umount "$1"',
        'umount --lazy "$1"',
        'mount -o remount,ro "$1"',
        'mount -o remount,exec "$1"',
        'mount -o remount,noatime "$1"',
        'mount -o remount,size=2m "$1"',
        'mount -t ramfs vandal "$1"',
        "sed -i '$d' /etc/fstab",
        "sed -i s/noexec/exec/ /etc/fstab",
        "rm /etc/fstab",
    ],
)
async def test_what_is_done_behind_its_back_is_undone_without_polling(spoil, point):
    resource = sized(point)
    async with running(resource) as story:
        await story.converged()
        shell(spoil, point)
        assert not is_as_desired(point)
        await story.until(lambda: is_as_desired(point))


def is_as_desired(point):
    mounts = mounts_at(str(point))
    listed = FSTAB.exists() and FSTAB.read_text().count("noexec") == 1
    options = {"rw", "noexec", "relatime", "size=1024k", "mode=750"}
    return listed and mounts and mounts[-1].fstype == "tmpfs" and options <= mounts[-1].options


async def test_another_mount_elsewhere_is_none_of_its_business(point, tmp_path):
    resource = sized(point)
    async with running(resource) as story:
        await story.converged()
        before = len(story.checks(resource.ref))
        shell('mkdir "$1"; mount -t tmpfs other "$1"; umount "$1"', tmp_path / "elsewhere")
        await story.until(lambda: len(story.checks(resource.ref)) > before)
        await story.rest()
        assert [check.result for check in story.checks(resource.ref)].count(Result.CHANGED) == 1


async def test_a_remount_keeps_what_is_in_the_file_system(point):
    await converge_once(sized(point))
    (point / "data").write_text("precious")
    ended, story = await converge_once(sized(point, options="size=2m,ro,nosuid"))
    assert ended.counts[Result.CHANGED] == 1
    actions = story.checks(f"mount#{point}")[0].actions
    assert actions == ("remounted with ro,nosuid,exec,size=2m", UPDATE)
    assert (point / "data").read_text() == "precious"


async def test_a_mount_that_others_are_below_says_which(point):
    shell('mount -t tmpfs outer "$1"; mkdir "$1/inner"; mount -t tmpfs inner "$1/inner"', point)
    _, story = await converge_once(Mount(name=str(point), ensure="absent"))
    shell('umount "$1/inner"', point)
    hint = story.checks(f"mount#{point}")[-1].hint
    assert hint == f"unmount what is mounted below it first: {point}/inner"


@pytest.mark.parametrize("noop", [False, True], ids=["run", "noop"])
async def test_an_option_that_a_remount_ignores_says_how_it_comes_into_force(noop, point):
    await converge_once(sized(point))
    before = FSTAB.read_text()
    resource = sized(point, options="size=1m,mode=0700,noexec,nofail")
    check = await checked(resource, noop=noop)
    assert check.error == f"a remount of {point} does not change mode=0700"
    assert f"umount {point}" in check.hint
    assert FSTAB.read_text() == before
    shell('umount "$1"', point)
    ended, _ = await converge_once(resource)
    assert (ended.counts[Result.CHANGED], point.stat().st_mode & 0o777) == (1, 0o700)


@pytest.mark.parametrize(
    "wanted", [{"ensure": "absent"}, {"device": "/elsewhere", "fstype": "none", "options": "bind"}]
)
async def test_noop_tells_that_a_mount_with_others_below_it_stays(wanted, point, tmp_path):
    shell('mount -t tmpfs outer "$1"; mkdir "$1/inner"; mount -t tmpfs inner "$1/inner"', point)
    if "device" in wanted:
        (tmp_path / "elsewhere").mkdir()
        wanted = {**wanted, "device": str(tmp_path / "elsewhere")}
    _, story = await converge_once(Mount(name=str(point), **wanted), options=RunOptions(noop=True))
    shell('umount "$1/inner"', point)
    check = story.checks(f"mount#{point}")[-1]
    assert (check.result, check.hint) == (
        Result.FAILED,
        f"unmount what is mounted below it first: {point}/inner",
    )


async def test_noop_sees_that_what_is_below_would_be_unmounted_before(point):
    shell('mount -t tmpfs outer "$1"; mkdir "$1/inner"; mount -t tmpfs inner "$1/inner"', point)
    outer, inner = (Mount(name=str(path), ensure="unmounted", **TMPFS) for path in (point, point / "inner"))
    ended, _ = await converge_once(outer, inner, options=RunOptions(noop=True))
    assert ended.counts[Result.FAILED] == 0
    ended, _ = await converge_once(outer, inner)
    assert ended.counts[Result.CHANGED] == 2


async def test_a_tmpfs_without_its_limit_is_not_as_desired_although_the_kernel_shows_no_size(point):
    shell('mount -t tmpfs -o noexec tmpfs "$1"', point)
    resource = sized(point, options="size=1m,noexec")
    _, story = await converge_once(resource)
    assert story.checks(resource.ref)[0].actions[0] == "remounted with size=1m"
    assert os.statvfs(point).f_blocks * os.statvfs(point).f_frsize == 1 << 20
    ended, _ = await converge_once(sized(point, options="size=1m,noexec"))
    assert ended.counts[Result.OK] == 1


async def test_the_defaults_of_a_tmpfs_may_be_written_out(point):
    half = os.sysconf("SC_PHYS_PAGES") // 2 * os.sysconf("SC_PAGE_SIZE")
    for options in (f"size={half},mode=1777,uid=0,gid=root", "size=50%"):
        await converge_once(sized(point, options=options))
        ended, _ = await converge_once(sized(point, options=options))
        assert ended.counts[Result.OK] == 1, options


async def test_a_bind_mount_of_another_directory_is_exchanged(point, tmp_path):
    for name in ("wanted", "wrong"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    shell('mount --bind "$1" "$2"', tmp_path / "wrong", point)
    await converge_once(
        Mount(name=str(point), device=str(tmp_path / "wanted"), fstype="none", options="bind")
    )
    assert [path.name for path in point.iterdir()] == ["wanted"]
    assert len(mounts_at(str(point))) == 1


def overlay(point):
    layers = {name: point.parent / name for name in ("lower", "upper", "work")}
    options = [f"{name}dir={path}" for name, path in layers.items()]
    mount = Mount(name=str(point), device="overlay", fstype="overlay", options=options)
    return mount, [
        File(name=str(path), ensure="directory", owner="root", group="root", mode="0755")
        for path in layers.values()
    ]


async def test_the_directories_of_an_overlay_go_before_its_mount(point):
    mount, layers = overlay(point)
    _, story = await converge_once(mount, *layers)
    (check,) = story.checks(mount.ref)
    assert (check.result, mounts_at(str(point))[-1].fstype) == (Result.CHANGED, "overlay")


async def test_noop_names_the_directory_that_an_overlay_lacks(point):
    mount, _ = overlay(point)
    _, story = await converge_once(mount, options=RunOptions(noop=True))
    assert story.checks(mount.ref)[-1].error == f"the directory {point.parent}/lower does not exist"


async def test_what_can_not_be_mounted_is_not_listed_for_the_next_boot(point):
    before = FSTAB.read_text()
    ended, story = await converge_once(Mount(name=str(point), device="/dev/nothing", fstype="ext4"))
    assert ended.counts[Result.FAILED] == 1
    error = story.checks(f"mount#{point}")[-1].error
    assert "mount failed with exit code 32" in error
    assert "/dev/nothing" in error
    assert FSTAB.read_text() == before


@pytest.fixture
def dead(point, tmp_path):
    """A mount point on which a file system is whose server has ended."""
    if shutil.which("bindfs") is None:
        pytest.skip("no bindfs to serve a file system")
    (tmp_path / "source").mkdir()
    with subprocess.Popen(["bindfs", "-f", tmp_path / "source", point]) as server:
        while not mounts_at(str(point)):
            assert server.poll() is None
        server.kill()
    with pytest.raises(OSError, match="not connected"):
        os.listdir(point)
    return point


@pytest.mark.parametrize("ensure", ["mounted", "unmounted", "absent"])
async def test_a_mount_whose_server_has_ended_is_unmounted_or_replaced(ensure, dead):
    resource = sized(dead, ensure=ensure)
    for noop, expected in ((True, Result.WOULD_CHANGE), (False, Result.CHANGED)):
        check = await checked(resource, noop=noop)
        assert (check.result, check.error) == (expected, None)
    assert [each.fstype for each in mounts_at(str(dead))] == (["tmpfs"] if ensure == "mounted" else [])


async def test_the_same_mount_is_made_again_when_its_server_has_ended(dead, tmp_path):
    source = str(tmp_path / "source")
    directory = File(name=str(dead), ensure="directory", owner="root", group="root", mode="0755")
    mount = Mount(name=str(dead), device=source, fstype="fuse.bindfs")
    _, story = await converge_once(directory, mount)
    assert story.checks(mount.ref)[0].actions[0] == f"mounted {source} again, whose server had ended"
    assert story.checks(directory.ref)[-1].error is None
    assert os.listdir(dead) == []
    unmounted = Mount(name=str(dead), ensure="unmounted", device=source, fstype="fuse.bindfs")
    await converge_once(directory, unmounted)
    assert mounts_at(str(dead)) == ()


def test_only_a_mount_with_a_server_is_looked_at_every_minute(point):
    served = Mount(name=str(point), device="host:", fstype="fuse.sshfs")
    assert TimerWatch(60.0) in served.watches()
    assert TimerWatch(60.0) not in sized(point).watches()


@pytest.mark.parametrize("ensure", ["mounted", "absent"])
async def test_what_a_dead_server_hides_does_not_block_the_mount_there(ensure, dead):
    directory = File(name=str(dead), ensure="directory", owner="root", group="root", mode="0755")
    _, story = await converge_once(directory, resource := sized(dead, ensure=ensure))
    assert story.checks(resource.ref)[0].result is Result.CHANGED
    assert story.checks(directory.ref)[-1].error is None


def may_read_kernel_log():
    try:
        with open("/dev/kmsg", "rb", buffering=0):
            return True
    except OSError:
        return False


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"options": "colour=red,size=1m"}, "the kernel: tmpfs: Unknown parameter 'colour'"),
        ({"options": "size=much"}, "the kernel: tmpfs: Bad value for 'size'"),
        ({"device": "img", "fstype": "ext4", "options": "loop"}, "VFS: Can't find ext4 filesystem"),
    ],
)
async def test_what_the_kernel_logs_about_a_refused_mount_is_in_the_error(properties, words, point, tmp_path):
    if not may_read_kernel_log():
        pytest.skip("may not read what the kernel logs")
    image = tmp_path / "img"
    image.write_bytes(b"\0" * 1_000_000)
    wanted = {**TMPFS, **properties}
    wanted["device"] = str(image) if wanted["device"] == "img" else wanted["device"]
    resource = Mount(name=str(point), **wanted)
    check = await checked(resource)
    assert check.result is Result.FAILED
    assert words in check.error
    assert check.hint == "correct options, fstype or device"


async def test_what_can_not_be_unmounted_stays_listed(point):
    await converge_once(sized(point))
    with (point / "open").open("w"):
        ended, story = await converge_once(Mount(name=str(point), ensure="absent"))
    assert ended.counts[Result.FAILED] == 1
    check = story.checks(f"mount#{point}")[-1]
    assert "busy" in check.error
    assert check.hint == f"see who uses it: fuser -vm {point}"
    assert str(point).rpartition(" ")[2] in FSTAB.read_text()


async def test_a_mount_point_that_is_missing_is_named(tmp_path):
    missing = tmp_path / "missing"
    ended, story = await converge_once(Mount(name=str(missing), **TMPFS))
    assert ended.counts[Result.FAILED] == 1
    assert (
        story.checks(f"mount#{missing}")[-1].hint
        == f"declare file#{missing} with ensure: directory, to go before this"
    )


async def test_noop_tells_that_no_device_has_the_tag(point):
    resource = Mount(name=str(point), device="LABEL=nobody-has-it", fstype="ext4")
    _, story = await converge_once(resource, options=RunOptions(noop=True))
    assert story.checks(resource.ref)[-1].error == "there is no device with LABEL=nobody-has-it"


@pytest.mark.parametrize("tag", ["LABEL=reactor-t1", "UUID=3e6be9de-8139-11d1-9106-a43f08d823a6"])
async def test_a_mount_by_a_tag_goes_after_the_file_system_that_gets_it(tag, point, tmp_path):
    name, _, value = tag.partition("=")
    made = Filesystem(name=str(tmp_path / "disk.img"), size="8M", **{name.lower(): value})
    mount = Mount(name=str(point), device=tag, fstype="ext4")
    assert (made.ref, mount.ref) in {(edge.first, edge.second) for edge in graph_of((mount, made)).edges}
    _, story = await converge_once(mount, made, options=RunOptions(noop=True))
    (check,) = story.checks(mount.ref)
    assert check.actions[0] == f"Would have mounted {tag}"


async def test_noop_tells_that_a_directory_takes_no_file(point, tmp_path):
    (tmp_path / "file").touch()
    resource = Mount(name=str(point), device=str(tmp_path / "file"), fstype="none", options="bind")
    _, story = await converge_once(resource)
    assert (story.result(resource.ref), mounts_at(str(point))) == (Result.FAILED, ())
    _, story = await converge_once(resource, options=RunOptions(noop=True))
    assert (
        story.checks(resource.ref)[-1].error
        == f"the mount point {point} is a directory, and {tmp_path}/file is a file"
    )


async def test_a_link_is_no_mount_point(point):
    """Mounted at what it leads to, it would be missing at its own name, and mounted there again and again."""
    link = point.parent / "link"
    link.symlink_to(point)
    _, story = await converge_once(Mount(name=str(link), **TMPFS))
    assert story.checks(f"mount#{link}")[-1].error == f"the mount point {link} is a link to {point}"
    assert story.checks(f"mount#{link}")[-1].hint == f"name it mount#{point}"
    assert mounts_at(str(point)) == ()


async def test_a_link_on_the_way_to_a_mount_point_is_followed(point, tmp_path):
    (tmp_path / "way").symlink_to(point.parent)
    ended, _ = await converge_once(Mount(name=f"{tmp_path}/way/{point.name}", **TMPFS))
    assert ended.counts[Result.CHANGED] == 1
    assert len(mounts_at(str(point))) == 1


@pytest.mark.parametrize("options", ["ro,size=1m", ["ro", "size=1m"], ["ro,size=1m"]])
def test_options_may_be_written_as_mount_takes_them(options):
    assert Mount(name="/srv", **TMPFS, options=options).options == ("ro", "size=1m")


async def test_mounts_that_converge_at_the_same_time_all_get_their_line(tmp_path):
    points = [tmp_path / f"m{number}" for number in range(8)]
    for path in points:
        path.mkdir()
    before = FSTAB.read_text()
    ended, _ = await converge_once(*(sized(path) for path in points))
    assert ended.counts[Result.CHANGED] == len(points)
    text = FSTAB.read_text()
    assert text.startswith(before)
    assert text.count("\n") == before.count("\n") + len(points)
    for path in points:
        subprocess.run(["umount", path], check=True)


async def test_noop_shows_the_line_and_changes_nothing(point):
    before = world(point)
    _, story = await converge_once(sized(point), options=RunOptions(noop=True, diff=True))
    (check,) = story.checks(f"mount#{point}")
    assert check.actions == ("Would have mounted tmpfs", "Would have added it to /etc/fstab")
    escaped = str(point).replace(" ", "\\040")
    assert f"+tmpfs\t{escaped}\ttmpfs\tsize=1m,mode=0750,noexec,nofail\t0\t0\n" in check.diffs[0]
    assert world(point) == before


def test_the_directory_goes_first_and_what_is_in_the_mount_goes_after(point):
    owner = {"owner": "root", "group": "root", "mode": "0755"}
    resources = [
        File(name=f"{point}/data", ensure="directory", **owner),
        Mount(name=str(point), device="/srv/image", fstype="ext4", options="loop"),
        File(name=str(point), ensure="directory", **owner),
        File(name="/srv/image", ensure="present", **owner),
    ]
    graph = graph_of(resources)
    edges = {(edge.first, edge.second) for edge in graph.edges}
    mount = resources[1].ref
    assert {(resources[2].ref, mount), (resources[3].ref, mount), (mount, resources[0].ref)} <= edges


@pytest.mark.parametrize("ensure", ["mounted", "unmounted", "absent", "present"])
@pytest.mark.parametrize("former", ["nothing", "listed", "mounted"])
async def test_it_is_undone_by_what_was_there(ensure, former, point):
    if former != "nothing":
        states = {"listed": "unmounted", "mounted": "mounted"}
        await converge_once(sized(point, ensure=states[former], options="size=2m,mode=0750", **{"pass": 2}))
    resource = sized(point, ensure=ensure)
    if await resource.verify():
        await assert_undone(
            resource, lambda: (entries_at(FSTAB.read_text(), str(point)), mounts_at(str(point)))
        )


async def test_a_mount_that_no_line_mentions_can_not_be_undone(point):
    shell('mount -t tmpfs one "$1"', point)
    resource = sized(point, ensure="absent")
    with pytest.raises(ResourceError, match="is not in /etc/fstab, and reverse could not restore it"):
        await resource.reversal(await resource.observe())


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"ensure": "absent", "name": "/"}, "/ can't be absent"),
        ({"ensure": "unmounted", "name": "/proc", **TMPFS}, "/proc can't be unmounted"),
        ({"fstype": "tmpfs"}, "device is required"),
        ({}, "device and fstype are required"),
        ({"device": "tmpfs", "ensure": "present"}, "fstype is required"),
        ({**TMPFS, "fstype": "tmp;fs"}, "not a type of file system"),
        ({**TMPFS, "device": "a\nb"}, "write a device"),
        ({**TMPFS, "options": ["a b"]}, "is not an option"),
        ({**TMPFS, "options": [1]}, "valid string"),
        ({**TMPFS, "options": "remount,ro"}, "remount is not allowed"),
        ({**TMPFS, "name": "srv"}, "must be absolute"),
        ({**TMPFS, "pass": -1}, "greater than or equal"),
    ],
)
def test_what_can_not_be_meant_is_refused(properties, message):
    with pytest.raises(ValueError, match=message):
        Mount(**{"name": "/srv", **properties})


STRANGER = 12345


@pytest.fixture
def home(tmp_path):
    """A directory of a stranger's with a mount point in it, beside a directory of root."""
    (tmp_path / "root/point").mkdir(parents=True)
    (tmp_path / "root/point/file").write_text("root's")
    (tmp_path / "home/point").mkdir(parents=True)
    for path in (tmp_path / "home", tmp_path / "home/point"):
        os.chown(path, STRANGER, STRANGER)
    yield tmp_path / "home"
    for mount in read_mounts():
        if mount.point.startswith(f"{tmp_path}/"):
            subprocess.run(["umount", "--lazy", mount.point], check=True)


def lead(home):
    (home.parent / "home").rename(home.parent / "away")
    (home.parent / "home").symlink_to("root")
    os.lchown(home.parent / "home", STRANGER, STRANGER)


@pytest.mark.parametrize("ensure", ["mounted", "present", "unmounted", "absent"])
@pytest.mark.parametrize("noop", [True, False])
async def test_a_symlink_of_a_stranger_leads_no_mount_over_a_directory_of_root(home, ensure, noop):
    lead(home)
    if ensure in ("unmounted", "absent"):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", home.parent / "root/point"], check=True)
    before = FSTAB.read_text(), mounts_at(str(home.parent / "root/point"))
    properties = {"ensure": ensure} if ensure == "absent" else {**TMPFS, "ensure": ensure}
    _, story = await converge_once(
        Mount(name=str(home / "point"), **properties), options=RunOptions(noop=noop)
    )
    assert [check.result for check in story.checks(f"mount#{home}/point")] == [Result.FAILED]
    assert (
        "leads through a symlink of 12345 into a directory of root"
        in story.checks(f"mount#{home}/point")[0].error
    )
    assert (FSTAB.read_text(), mounts_at(str(home.parent / "root/point"))) == before


SWAPPING = """#!/bin/sh
mv {home} {away} && ln -s root {home}
PATH={path} exec {program} "$@"
"""


@pytest.mark.parametrize("options", ["size=1m", "bind", "bind,ro,noexec"])
async def test_a_parent_that_is_replaced_when_mount_begins_leads_it_nowhere_else(
    home, tmp_path, monkeypatch, options
):
    """The stranger acts between our look and the system call of mount(8): here, mount(8) itself does it first."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "source").mkdir()
    words = {
        "home": home,
        "away": tmp_path / "away",
        "path": os.environ["PATH"],
        "program": shutil.which("mount"),
    }
    (tmp_path / "bin/mount").write_text(SWAPPING.format(**words))
    (tmp_path / "bin/mount").chmod(0o755)
    monkeypatch.setattr(
        sys.modules["reactor.resources.process.command"],
        "ENVIRONMENT",
        {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"},
    )
    device = {"device": str(tmp_path / "source"), "fstype": "none"} if "bind" in options else TMPFS
    await converge_once(Mount(name=str(home / "point"), options=options, **device))
    assert mounts_at(f"{tmp_path}/root/point") == ()
    assert (tmp_path / "root/point/file").read_text() == "root's"
    assert len(mounts_at(f"{tmp_path}/away/point")) == 1


@pytest.mark.parametrize("of", ["the file", "the directory", "a symlink"])
@pytest.mark.parametrize("ensure", ["mounted", "present"])
async def test_another_user_puts_no_file_system_with_programs_of_root_in_place(tmp_path, point, of, ensure):
    disk = tmp_path / "images/disk"
    disk.parent.mkdir()
    disk.touch()
    os.truncate(disk, 1 << 20)
    shell('mkfs.ext4 -q "$1"', disk)
    if of == "a symlink":
        (disk.parent / "link").symlink_to("disk")
    given = {"the file": disk, "the directory": disk.parent}.get(of, disk.parent / "link")
    os.lchown(given, STRANGER, STRANGER)
    device = given if of == "a symlink" else disk
    make = partial(Mount, name=str(point), device=str(device), fstype="ext4", options="loop", ensure=ensure)
    before = FSTAB.read_text()
    for noop in (True, False):
        _, story = await converge_once(make(), options=RunOptions(noop=noop))
        [check] = story.checks(f"mount#{point}")
        assert (check.result, "another user can change what is mounted" in check.error) == (
            Result.FAILED,
            True,
        )
    assert (FSTAB.read_text(), mounts_at(str(point))) == (before, ())
    os.lchown(given, 0, 0)
    _, story = await converge_once(make())
    assert story.result(f"mount#{point}") is Result.CHANGED


async def test_below_a_directory_of_another_user_a_mount_comes_changes_and_goes(home):
    make = partial(Mount, name=str(home / "point"), **TMPFS)
    for options in ("size=1m", "size=1m,ro"):
        _, story = await converge_once(make(options=options))
        assert [check.result for check in story.checks(f"mount#{home}/point")] == [Result.CHANGED]
    assert "ro" in mounts_at(str(home / "point"))[-1].options
    source = home.parent / "root"
    _, story = await converge_once(
        Mount(name=str(home / "point"), device=str(source), fstype="none", options="bind,ro")
    )
    assert (home / "point/point/file").read_text() == "root's"
    assert "ro" in mounts_at(str(home / "point"))[-1].options
    _, story = await converge_once(Mount(name=str(home / "point"), ensure="absent"))
    assert mounts_at(str(home / "point")) == ()
    assert str(home) not in FSTAB.read_text()


@pytest.mark.parametrize("ensure", ["absent", "unmounted"])
@pytest.mark.parametrize("backwards", [False, True])
async def test_mounts_in_mounts_and_what_is_in_them_go_from_the_inside_out(ensure, backwards, point):
    inner, file = point / "inner", point / "file"
    shell('mount -t tmpfs one "$1"; mkdir "$1/inner"; touch "$1/file"; mount -t tmpfs two "$1/inner"', point)
    put = {"owner": "root", "group": "root", "mode": "0644", "content": "below"}
    resources = [
        sized(point, ensure=ensure),
        sized(inner, ensure=ensure),
        File(name=str(file), ensure="absent"),
        File(name=str(point / "later"), ensure="present", **put),
    ]
    ended, story = await converge_once(*(reversed(resources) if backwards else resources))
    assert ended.counts["failed"] == ended.counts["blocked"] == 0
    assert all(len(story.checks(resource.ref)) == 1 for resource in resources)
    assert not mounts_at(str(inner))
    assert not mounts_at(str(point))
    assert os.listdir(point) == ["later"], "it was written when the mount was gone"


async def test_a_mount_in_what_a_command_makes_is_mounted_after_all(point):
    inner = point / "inner"
    makes = Exec(
        name="makes",
        provider="shell",
        command='sleep 0.2; mkdir "$DIRECTORY"',
        environment=[f"DIRECTORY={inner}"],
    )
    try:
        ended, _ = await converge_once(sized(inner), makes)
        assert ended.counts["failed"] == 0
        assert mounts_at(str(inner))
    finally:
        subprocess.run(["umount", inner], check=False)


async def test_an_owner_by_name_is_what_the_kernel_shows_as_a_number(point):
    shell("groupadd -f -g 4711 films; useradd -M -u 4712 -g 4711 viewer")
    try:
        shell('mount -t tmpfs -o uid=4712,gid=4711 tmpfs "$1"', point)
        (top,) = mounts_at(str(point))
        assert {"uid=4712", "gid=4711"} <= top.options
        for options, wrong in [
            (("uid=viewer", "gid=films"), ()),
            (("uid=4712", "gid=4711"), ()),
            (("uid=root", "gid=films"), ("uid=root",)),
            (("uid=1", "gid=root"), ("uid=1", "gid=root")),
            (("uid=nobody-knows-who",), ()),
        ]:
            assert missing(options, top.options, "tmpfs") == wrong
    finally:
        shell("userdel viewer; groupdel films 2>/dev/null || true")


def test_from_the_shell_a_mount_keeps_its_device_and_type_unless_they_are_given():
    found = Mount.shell_defaults("/proc", "mounted")
    assert (found.keys(), found["fstype"]) == ({"device", "fstype"}, "proc")
    assert Mount.shell_defaults("/proc", "absent") == Mount.shell_defaults("/none", "mounted") == {}
