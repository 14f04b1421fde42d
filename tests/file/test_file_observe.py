"""What a check reads, and what it does not read."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio
from file_worlds import ME, MY_GROUP, converge, look, make

from reactor.hostfs import safe_open
from reactor.hostfs.content import INLINE_LIMIT
from reactor.hostfs.stat_stamp import stamp_is_reliable
from reactor.resource.plan import ResourceError

CALLS = ("lstat", "stat", "open", "fstat", "read", "pread", "preadv", "listdir", "scandir")


class Calls(list):
    """The system calls of a check, by the names of the functions of os, and openat2, which os does not offer.

    A preadv, which reads from a disk, counts as the pread that reads in memory.
    """

    def __init__(self, monkeypatch) -> None:
        super().__init__()
        for name in CALLS:
            monkeypatch.setattr(os, name, self._recording(name, getattr(os, name)))
        monkeypatch.setattr(safe_open, "_syscall", self._recording("openat2", safe_open._syscall))

    def _recording(self, name, function):
        def call(*args, **options):
            self.append("pread" if name == "preadv" else name)
            return function(*args, **options)

        return call


async def aged(file, path: Path):
    """Check ``file`` until its last change is old enough for a stamp to be kept."""
    with trio.fail_after(60):
        while file._reconciler._stamp is None:
            assert await look(file) == ()
            await trio.sleep(0.001)
    assert path.exists()


@pytest.fixture
async def settled_file(tmp_path: Path):
    file = make(tmp_path / "f", content="x")
    await converge(file)
    await aged(file, tmp_path / "f")
    return file


async def test_a_file_that_did_not_move_costs_one_lstat(settled_file, monkeypatch):
    settled_file._reconciler  # noqa: B018  made before the calls are counted
    calls = Calls(monkeypatch)
    assert await look(settled_file) == ()
    assert [call for call in calls if call != "stat"] == ["lstat"]  # a stat is the look at the account files


async def test_a_full_check_reads_what_did_not_move(settled_file, monkeypatch):
    calls = Calls(monkeypatch)
    settled_file.run_again()
    assert await look(settled_file) == ()
    assert "pread" in calls


async def test_a_file_that_moved_is_read_once(settled_file, monkeypatch):
    os.utime(settled_file.name)
    calls = Calls(monkeypatch)
    assert await look(settled_file) == ()
    assert [call for call in calls if call != "stat"] == ["lstat", "openat2", "fstat", "pread"]


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text("y"),
        lambda path: path.chmod(0o600),
        lambda path: path.unlink(),
        lambda path: (path.rename(f"{path}.old"), path.write_text("y")),
        lambda path: (path.unlink(), path.symlink_to("nowhere")),
    ],
)
async def test_every_change_ends_the_stamp(settled_file, change):
    change(Path(settled_file.name))
    assert await look(settled_file) != ()
    assert settled_file._reconciler._stamp is None
    await converge(settled_file)


async def test_same_size_content_put_back_in_time_is_noticed(settled_file):
    path = Path(settled_file.name)
    before = path.stat()
    path.write_text("y")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert await look(settled_file) != ()


async def test_after_a_repair_there_is_no_stamp(settled_file, monkeypatch):
    # As where the repair is verified at once, also on a busy machine.
    monkeypatch.setattr("reactor.resources.file.observer.stamp_is_reliable", lambda *_: False)
    Path(settled_file.name).write_text("y")
    await converge(settled_file)
    assert settled_file._reconciler._stamp is None


async def test_noop_on_drift_keeps_no_stamp(settled_file):
    Path(settled_file.name).chmod(0o600)
    assert await look(settled_file) != ()
    assert await look(settled_file) != ()
    assert settled_file._reconciler._stamp is None


async def test_a_change_of_the_source_ends_the_stamp(tmp_path: Path):
    source = tmp_path / "source"
    source.write_text("x")
    file = make(tmp_path / "f", source=str(source))
    await converge(file)
    await aged(file, tmp_path / "f")
    assert await look(file) == ()
    source.write_text("y")
    assert await look(file) != ()
    await converge(file)
    await aged(file, tmp_path / "f")
    source.unlink()
    with pytest.raises(ResourceError, match="does not exist"):
        await look(file)


def test_a_stamp_of_a_moment_ago_or_of_the_future_proves_nothing(tmp_path: Path):
    found = tmp_path.stat()
    assert stamp_is_reliable(found, found.st_ctime_ns + 20_000_000)
    assert not stamp_is_reliable(found, found.st_ctime_ns + 19_999_999)
    assert not stamp_is_reliable(found, found.st_ctime_ns - 1)


@pytest.mark.parametrize(("seconds", "proves"), [(1.0, False), (2.0, False), (2.02, True)])
def test_a_stamp_in_whole_seconds_proves_nothing_before_the_next_but_one(seconds: float, *, proves: bool):
    ctime = 1_700_000_000_000_000_000
    found = SimpleNamespace(st_ctime_ns=ctime)
    assert stamp_is_reliable(found, ctime + int(seconds * 1e9)) is proves


async def test_attributes_alone_read_no_content(tmp_path: Path, monkeypatch):
    (tmp_path / "f").write_text("x")
    (tmp_path / "f").chmod(0o600)
    file = make(tmp_path / "f")
    calls = Calls(monkeypatch)
    for action in await look(file):
        await action.run()
    assert await file.verify() == ()
    assert not {"read", "pread", "preadv"} & {*calls}


async def test_a_long_file_of_another_size_is_not_read(tmp_path: Path, monkeypatch):
    (tmp_path / "f").write_text("x" * (16 * 1024 + 1))
    calls = Calls(monkeypatch)
    assert await look(make(tmp_path / "f", content="x")) != ()
    assert not {"read", "pread", "preadv"} & {*calls}


async def test_a_short_file_of_another_size_is_read_for_its_diff_after_the_repair(
    tmp_path: Path, monkeypatch
):
    path = tmp_path / "f"
    path.write_text("longer\n")
    calls = Calls(monkeypatch)
    (action,) = await look(make(path, content="x\n"))
    assert action.diff is not None
    diff = await action.diff()
    assert not {"read", "pread", "preadv"} & {*calls}
    await action.run()
    assert "-longer\n+x\n" in await diff()
    assert path.read_text() == "x\n"


async def test_a_short_file_of_another_size_is_read_for_its_diff_in_a_dry_run(tmp_path: Path):
    (tmp_path / "f").write_text("longer\n")
    (action,) = await look(make(tmp_path / "f", content="x\n"))
    assert action.diff is not None
    assert "-longer\n+x\n" in await (await action.diff())()


async def test_a_repair_stays_in_the_directory_that_was_looked_at():
    """In memory; on a disk, the change opens the directory again."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        top = Path(name)
        (top / "d").mkdir()
        (top / "other").mkdir()
        (top / "d/f").write_text("longer\n")
        file = make(top / "d/f", content="x\n")
        await look(file)  # the first look lists the directory, and opens the file by its path
        (action,) = await look(file)
        (top / "d").rename(top / "moved")
        (top / "d").symlink_to(top / "other")
        await action.run()
        assert (top / "moved/f").read_text() == "x\n"
        assert os.listdir(top / "other") == []


async def test_attributes_are_set_on_the_file_that_was_read():
    """In memory: what has taken its name since may be any file."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        path = Path(name, "f")
        path.write_text("x\n")
        path.chmod(0o600)
        (action,) = await look(make(path, content="x\n"))
        path.rename(path.with_name("read"))
        path.write_text("other\n")
        path.chmod(0o600)
        await action.run()
        assert path.with_name("read").stat().st_mode & 0o777 == 0o644
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("content", "mode"), [("longer\n", 0o644), ("x\n", 0o600), ("y\n", 0o644)])
async def test_a_check_without_a_repair_leaves_nothing_open(tmp_path: Path, content, mode):
    (tmp_path / "f").write_text(content)
    (tmp_path / "f").chmod(mode)
    file = make(tmp_path / "f", content="x\n")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(2):  # the first look lists the directory
        assert await look(file) != ()
        assert len(os.listdir("/proc/self/fd")) <= before, "what others left may be collected meanwhile"


async def test_the_content_of_a_file_with_a_second_name_is_not_kept_for_its_diff(tmp_path: Path):
    """It may be the file of another user: the diff finds out, when it opens the file, whether it may show it."""
    (tmp_path / "f").write_text("longer\n")
    (tmp_path / "g").hardlink_to(tmp_path / "f")
    state = await make(tmp_path / "f", content="x\n").observe()
    assert state.same_content is False
    assert state.short is None


@pytest.mark.parametrize("size", [INLINE_LIMIT - 1, INLINE_LIMIT, INLINE_LIMIT + 1, 3 * INLINE_LIMIT])
async def test_sizes_around_the_limit_are_compared_whole(tmp_path: Path, size: int):
    text = "a" * size
    (tmp_path / "f").write_text(text)
    (tmp_path / "f").chmod(0o644)
    (tmp_path / "g").write_text(text)
    for same in (make(tmp_path / "f", content=text), make(tmp_path / "f", source=str(tmp_path / "g"))):
        assert await look(same) == ()
    (tmp_path / "g").write_text(text[:-1] + "b")
    for other in (
        make(tmp_path / "f", content=text[:-1] + "b"),
        make(tmp_path / "f", source=str(tmp_path / "g")),
    ):
        assert await look(other) != ()


@pytest.mark.parametrize("properties", [{"content": "x"}, {"source": "/etc/passwd"}, {"ensure": "directory"}])
async def test_a_fifo_does_not_hold_up_a_check(tmp_path: Path, properties):
    os.mkfifo(tmp_path / "f")
    with trio.fail_after(60):
        assert await look(make(tmp_path / "f", **properties)) != ()


async def test_a_device_is_never_opened(monkeypatch):
    calls = Calls(monkeypatch)
    with pytest.raises(ResourceError, match="exists as a device"):
        await look(make("/dev/null", content="x"))
    assert "open" not in calls


async def test_a_loop_of_symlinks_on_the_way_is_an_error(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ResourceError) as caught:
        await look(make(tmp_path / "loop" / "f", content="x"))
    assert caught.value.message.startswith(f"cannot inspect {tmp_path}/loop/f: ")
    assert "loop" in caught.value.hint


async def test_an_unknown_user_or_group_is_an_error_that_names_it(tmp_path: Path):
    for key, what in (("owner", "user"), ("group", "group")):
        with pytest.raises(ResourceError) as caught:
            await look(make(tmp_path / "f", content="x", **{key: "no-such-one"}))
        assert caught.value.message == f'could not lookup {what} "no-such-one"'
        assert "numeric id" in caught.value.hint


AS_NOBODY = """
import functools, os, sys, trio
sys.path.insert(0, {tests!r})
import file_worlds
from file_worlds import converge, look
from reactor.resource.plan import ResourceError
make = functools.partial(file_worlds.make, owner="65534", group="65534")
trio.run(look, make("/", ensure="directory"))  # all is imported before it can't be any more
os.setgroups([]); os.setgid(65534); os.setuid(65534)
def error(function, file):
    try:
        trio.run(function, file)
    except ResourceError as e:
        return e.message, e.hint
    return None
print(error(look, make({closed!r} + "/f", content="x")))
print(error(look, make({closed!r} + "/f", ensure="absent")))
print(error(look, make({root!r} + "/secret", content="x")))
print(error(converge, make({root!r} + "/new", content="x")))
mine = {mine!r} + "/f"
print(error(converge, make(mine, content="x")))
os.chmod(mine, 0)
print(error(converge, make(mine, content="x")), oct(os.stat(mine).st_mode))
os.chmod(mine, 0o200)
print(error(converge, make(mine, mode="0444")), oct(os.stat(mine).st_mode))
print(error(converge, make(mine, content="y", mode="0200")))
os.chmod(mine, 0o4200)
print(error(converge, make(mine, content="x", mode="0600")), oct(os.stat(mine).st_mode))
os.chmod(mine, 0o333)
print(error(converge, make(mine, content="x", mode="0333")))
print(error(look, make({root!r} + "/theirs", content="x")))
os.chmod(mine, 0)
print(error(converge, make(mine, source="/etc/passwd")), oct(os.stat(mine).st_mode))
os.symlink({closed!r} + "/f", {mine!r} + "/link")
print(error(look, make({mine!r} + "/link")))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes somebody else")
def test_permission_denied_is_an_error_and_never_absent(open_tmp_path: Path):
    names = {name: open_tmp_path / name for name in ("closed", "mine")}
    for path in names.values():
        path.mkdir(mode=0o700)
    os.chown(names["mine"], 65534, 65534)
    (open_tmp_path / "secret").write_text("x")
    (open_tmp_path / "secret").chmod(0o600)
    (open_tmp_path / "theirs").touch(0o600)
    os.chown(open_tmp_path / "theirs", 70000, 70000)
    program = AS_NOBODY.format(
        tests=str(Path(__file__).parent),
        root=str(open_tmp_path),
        closed=str(names["closed"]),
        mine=str(names["mine"]),
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    hint = "run as root, or as a user who may use every directory of the path"
    assert ran.stdout.splitlines() == [
        str((f"cannot inspect {names['closed']}/f: Permission denied", hint)),
        str((f"cannot inspect {names['closed']}/f: Permission denied", hint)),
        str((f"cannot inspect {open_tmp_path}/secret: Permission denied", hint)),
        str((f"cannot write {open_tmp_path}/new: Permission denied", hint)),
        "None",
        "None 0o100644",
        "None 0o100444",
        str((f"cannot inspect {names['mine']}/f: Permission denied", hint)),
        "None 0o100600",
        str((f"cannot inspect {names['mine']}/f: Permission denied", hint)),
        str((f"cannot inspect {open_tmp_path}/theirs: Permission denied", hint)),
        "None 0o100644",
        str((f"cannot inspect {names['mine']}/link: Permission denied", hint)),
    ]


@pytest.mark.parametrize("kind", ["nothing", "directory", "symlink"])
async def test_what_takes_the_place_of_a_new_file_before_it_is_verified_is_found(tmp_path: Path, kind):
    path = tmp_path / "f"
    file = make(path, content="x")
    for action in await look(file):
        await action.run()
    path.unlink()
    if kind == "directory":
        path.mkdir()
        with pytest.raises(ResourceError, match="exists as a directory"):
            await file.verify()
    else:
        if kind == "symlink":
            path.symlink_to("/etc/hostname")
        (action,) = await file.verify()
        what = "created the file" if kind == "nothing" else "replaced a symlink with the file"
        assert action.did == what


async def test_a_new_file_is_verified_without_a_look_at_its_type_before(tmp_path: Path, monkeypatch):
    file = make(tmp_path / "f", content="x")
    for action in await look(file):
        await action.run()
    calls = Calls(monkeypatch)
    assert await file.verify() == ()
    assert "lstat" not in calls


async def test_our_own_account_is_known_by_id(tmp_path: Path):
    file = make(tmp_path / "f", content="x", owner=ME, group=MY_GROUP)
    assert (await file.observe()).wanted[:2] == (int(ME), int(MY_GROUP))


async def test_the_outputs_of_a_directory_have_no_checksum_and_leave_no_descriptor_open(tmp_path: Path):
    file = make(tmp_path, ensure="directory", owner=ME, group=MY_GROUP, mode="0755")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        assert await file.outputs() == {"path": str(tmp_path), "checksum": None}
    assert len(os.listdir("/proc/self/fd")) <= before, "what others left may be collected meanwhile"
