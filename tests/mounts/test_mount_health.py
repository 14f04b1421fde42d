"""Which mounts may stop answering, how they are asked, and what is believed."""

from contextlib import suppress
from pathlib import Path

import pytest
import trio
from one_shot import converged
from served import served, until, wait_until

from reactor import mountinfo
from reactor.engine.events import Result
from reactor.resource import mount_health
from reactor.resource.mount_health import FragileMounts, fragile_mounts
from reactor.resource.plan import ResourceError
from reactor.resources.filesystem import Filesystem


def line_of(point, fstype):
    return f"9 1 0:99 / {point} rw - {fstype} server:/export rw\n"


@pytest.fixture
def table(monkeypatch, tmp_path):
    """What the table of mounts is to say: takes the place of the kernel's."""
    path = tmp_path / "mountinfo"
    monkeypatch.setattr(mountinfo, "MOUNTINFO", str(path))
    return path


@pytest.mark.parametrize(
    ("point", "fstype", "is_fragile"),
    [
        ("/srv", "nfs4", True),
        ("/srv", "cifs", True),
        ("/srv", "autofs", True),
        ("/srv", "fuse", True),
        ("/srv", "fuse.sshfs", True),
        ("/srv", "fusectl", False),
        ("/srv", "ext4", False),
        ("/srv", "tmpfs", False),
        ("/", "fuse.fuse-overlayfs", False),
        ("/proc/sys/fs/binfmt_misc", "autofs", False),
        ("/proc/cpuinfo", "fuse.lxcfs", False),
    ],
)
def test_what_another_process_serves_may_stop_answering(table, point, fstype, is_fragile):
    table.write_text(line_of(point, fstype))
    assert list(FragileMounts().by_point) == [point] * is_fragile


def test_what_is_mounted_over_another_counts_until_it_goes(table):
    table.write_text(line_of("/srv", "nfs4") + line_of("/srv", "fuse.sshfs"))
    mounts = FragileMounts()
    assert mounts.by_point["/srv"].info.fstype == "fuse.sshfs"
    table.write_text(line_of("/srv", "nfs4"))
    mounts.read()
    assert mounts.by_point["/srv"].info.fstype == "nfs4"


def test_without_a_table_there_are_none(table):
    assert not FragileMounts().by_point


@pytest.mark.parametrize(
    ("path", "is_behind"),
    [
        ("point", True),
        ("point/f", True),
        ("point/d/f", True),
        ("pointless/f", False),
        ("other", False),
        ("missing/point/f", False),
        ("link/f", True),
        ("link", True),
        ("chain/f", True),
        ("over/up/f", True),
        ("other/up/../f", False),
        ("circle/f", False),
    ],
)
async def test_a_path_leads_through_a_mount_by_whatever_symlinks(table, tmp_path, path, is_behind):
    for directory in ("other", "over"):
        (tmp_path / directory).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "point")
    (tmp_path / "chain").symlink_to("other/../link")
    (tmp_path / "over" / "up").symlink_to("../point/d")
    (tmp_path / "other" / "up").symlink_to("../over")
    (tmp_path / "circle").symlink_to("circle")
    table.write_text(line_of(f"{tmp_path}/point", "nfs4"))
    mounts = FragileMounts()
    complaint = f"nfs4 at {tmp_path}/point does not answer"
    assert mounts.unresponsive_reason(f"{tmp_path}/{path}") == (complaint if is_behind else None)
    assert mounts.unresponsive_reason(f"{tmp_path}/{path}".encode()) == (complaint if is_behind else None)


async def test_what_is_above_the_files_of_one_directory_is_looked_at_once(
    table, tmp_path, autojump_clock, monkeypatch
):
    """For as long as an answer of a mount is believed, and until another mount comes."""
    looked = []
    monkeypatch.setattr(
        mount_health,
        "_target_of",
        lambda path, find=mount_health._target_of: looked.append(path) or find(path),
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("other")
    table.write_text(line_of(f"{tmp_path}/point", "nfs4"))
    mounts = FragileMounts()
    files = [f"{tmp_path}/link/{number}" for number in range(10)]
    assert not any(map(mounts.unresponsive_reason, files))
    assert looked[-9:] == [f"{tmp_path}/other/{number}" for number in range(1, 10)]
    # The parents of the link, and of what it leads to, are looked at too.
    assert len(looked) == len((tmp_path / "link/0").parents) + 1 + 9
    table.write_text(line_of(f"{tmp_path}/other/3", "nfs4"))
    mounts.read()
    assert [bool(mounts.unresponsive_reason(each)) for each in files] == [number == 3 for number in range(10)]
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("other/3")
    await trio.sleep(mount_health.ANSWER_VALID_FOR)
    assert all(map(mounts.unresponsive_reason, files))


async def test_a_mount_that_answers_is_believed_for_a_moment_and_asked_once(mount, questions, monkeypatch):
    monkeypatch.setattr(mount_health, "ANSWER_VALID_FOR", 60.0)
    mounts = fragile_mounts()
    async with trio.open_nursery() as nursery:
        for number in range(1000):
            nursery.start_soon(mounts.ask, f"{mount.point}/{number}")
    assert questions == [str(mount.point)]
    assert mounts.unresponsive_reason(f"{mount.point}/f") is None
    mount.stop()
    await mounts.ask(f"{mount.point}/f")
    monkeypatch.setattr(mount_health, "ANSWER_VALID_FOR", 0.0)
    assert mounts.unresponsive_reason(f"{mount.point}/f") is not None


async def test_one_question_is_asked_of_a_mount_that_hangs_and_all_fail_with_the_same_reason(
    mount, short_mount_timeout, questions
):
    mounts, reasons = fragile_mounts(), []

    async def ask():
        with pytest.raises(ResourceError) as raised:
            await mounts.ask(f"{mount.point}/f")
        reasons.append((raised.value.message, raised.value.hint))

    mount.stop()
    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(ask)
    with trio.fail_after(50 * mount_health.TIMEOUT):
        for _ in range(100):
            await ask()
    words = f"restore {mount.source}, which serves it, or unmount it: umount --lazy {mount.point}"
    assert set(reasons) == {(f"fuse at {mount.point} does not answer", words)}
    assert questions == [str(mount.point)]


async def test_a_mount_that_answers_late_is_believed_again(mount, short_mount_timeout):
    mounts = fragile_mounts()
    mount.stop()
    with pytest.raises(ResourceError):
        await mounts.ask(str(mount.point))
    mount.go_on()
    await until(lambda: not mounts.unresponsive_reason(str(mount.point)))


async def test_a_mount_below_one_that_answers_is_asked_as_well(mount, tmp_path, monkeypatch):
    with served(mount.point / "inner", tmp_path / "elsewhere") as inner:
        mounts = fragile_mounts()
        inner.stop()
        await mounts.ask(f"{mount.point}/f")
        monkeypatch.setattr(mount_health, "TIMEOUT", 0.3)
        monkeypatch.setattr(mount_health, "ANSWER_VALID_FOR", 60.0)
        with pytest.raises(ResourceError, match=f"{inner.point} does not answer"):
            await mounts.ask(f"{inner.point}/f")


async def test_mounts_that_come_and_go_are_known_at_once(tmp_path):
    mounts = fragile_mounts()
    point = str(tmp_path / "point")
    assert point not in mounts.by_point
    with served(tmp_path / "point", tmp_path / "source"):
        await until(lambda: point in mounts.by_point)
    await until(lambda: point not in mounts.by_point)
    await mounts.ask(f"{point}/f")


async def test_where_nothing_can_stop_answering_no_one_is_asked(table, questions, tmp_path):
    table.write_text(line_of(tmp_path, "ext4"))
    mounts = FragileMounts()
    await mounts.ask(f"{tmp_path}/f")
    assert mounts.unresponsive_reason(f"{tmp_path}/f") is None
    assert not questions


async def test_what_can_not_be_asked_is_believed(mount, monkeypatch):
    def refuse(*_words, **_options):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(mount_health.os, "posix_spawn", refuse)
    await fragile_mounts().ask(f"{mount.point}/f")


def askers_of(point):
    """The processes that ask about it."""
    words = f"\0{point}\0".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if (line := entry.read_bytes()).startswith(b"stat\0") and line.endswith(words):
                found.append(entry)
    return found


def test_a_user_who_hangs_for_us_does_not_outlive_the_run(mount, short_mount_timeout):
    async def ask_in_vain():
        with pytest.raises(ResourceError):
            await fragile_mounts().ask(str(mount.point))
        assert len(askers_of(mount.point)) == 1

    mount.stop()
    trio.run(ask_in_vain)
    wait_until(lambda: not askers_of(mount.point))


async def test_a_file_system_of_xfs_is_not_made_beside_a_mount_that_does_not_answer(
    mount, short_mount_timeout, tmp_path
):
    """mkfs.xfs, xfs_admin and xfs_growfs look at every mount, and would wait without a word."""
    wanted = Filesystem(name=str(tmp_path / "disk"), fstype="xfs", size="320m")
    mount.stop()
    result, words = await converged(wanted)
    assert (result, "the programs of xfs look at every mount, and fuse" in words) == (Result.FAILED, True), (
        words
    )
    assert f"at {mount.point} does not answer" in words
    assert not Path(wanted.name).exists()
