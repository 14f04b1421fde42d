"""Changes on real files."""

import errno
import os
import resource
import shlex
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from descriptors import open_descriptors
from file_worlds import ME, MY_GROUP, converge, look, make, mode_of, names_in, picture
from namespaces import run_in_namespaces

from reactor import hostfs
from reactor.hostfs import Attributes, Inline, write_file
from reactor.resource.plan import ResourceError

MINE = Attributes(int(ME), int(MY_GROUP), 0o644)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
BIG = "0123456789abcdef" * 40_000  # 640 KB: beyond what is handled on the spot


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "f"


async def test_a_file_is_created_with_its_content_and_attributes(path: Path):
    file = make(path, content="héllo\n", mode="0640")
    assert await converge(file) == ["created the file"]
    assert path.read_bytes() == "héllo\n".encode()
    assert mode_of(path) == 0o640
    assert names_in(path.parent) == ["f"]


@pytest.mark.parametrize("mask", [0, 0o077, 0o777])
async def test_the_umask_changes_nothing(path: Path, mask: int):
    old = os.umask(mask)
    try:
        await converge(make(path, content="x", mode="0664"))
    finally:
        os.umask(old)
    assert mode_of(path) == 0o664


@pytest.mark.parametrize("mask", [0, 0o027, 0o077])
async def test_the_umask_does_not_shut_the_directories_above_a_new_one(path: Path, mask: int):
    old = os.umask(mask)
    try:
        await converge(make(path / "a/b", ensure="directory", mode="0700"))
    finally:
        os.umask(old)
    assert [mode_of(each) for each in (path, path / "a", path / "a/b")] == [0o755, 0o755, 0o700]


@pytest.mark.skipif(shutil.which("setfacl") is None, reason="needs the program setfacl")
async def test_a_default_acl_decides_about_the_directories_above_a_new_one(path: Path):
    path.mkdir()
    subprocess.run(["setfacl", "-d", "-m", "u::rwx,g::rx,o::-", path], check=True)
    await converge(make(path / "a/b", ensure="directory", mode="0700"))
    assert mode_of(path / "a") == 0o750


@pytest.mark.parametrize("mode", ["0644", "0755", "0640", "0600", "0664", "0444", "0666"])
async def test_an_unfinished_file_gives_no_one_more_than_the_finished_one_gives_everybody(
    path: Path, mode: str, monkeypatch
):
    """Until it has its owner, a group may be another one than the one that is meant."""
    unfinished = []

    def write(fd: int, data: bytes, real=os.write) -> int:
        unfinished.append(os.fstat(fd).st_mode & 0o7777)
        return real(fd, data)

    old = os.umask(0)
    try:
        monkeypatch.setattr(os, "write", write)
        await converge(make(path, content="x", mode=mode))
        monkeypatch.undo()
    finally:
        os.umask(old)
    everybody = int(mode, 8) & 0o7
    assert [found & ~(0o600 | everybody << 3 | everybody) for found in unfinished] == [0]
    assert mode_of(path) == int(mode, 8)


@pytest.mark.parametrize("mode", ["644", "0o644", "0O644", "400", "777"])
async def test_every_way_to_write_a_mode_converges(path: Path, mode: str):
    await converge(make(path, content="x", mode=mode))
    assert mode_of(path) == int(mode[2:] if mode[:2] in ("0o", "0O") else mode, 8)


async def test_empty_content_makes_an_empty_file_and_empties_a_full_one(path: Path):
    await converge(make(path, content=""))
    assert path.read_bytes() == b""
    path.write_text("full")
    assert await converge(make(path, content="")) == ["updated the content"]
    assert path.read_bytes() == b""


async def test_a_big_file_is_written_and_compared_whole(path: Path):
    await converge(make(path, content=BIG))
    assert path.read_text() == BIG
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"X")
    assert await converge(make(path, content=BIG)) == ["updated the content"]
    assert path.read_text() == BIG


async def test_an_update_replaces_the_file_and_leaves_other_links_to_it_alone(path: Path):
    path.write_text("old")
    path.chmod(0o644)
    os.link(path, path.parent / "other")
    assert await converge(make(path, content="new")) == ["updated the content"]
    assert path.read_text() == "new"
    assert (path.parent / "other").read_text() == "old"


async def test_wrong_attributes_are_repaired_without_touching_the_content(path: Path):
    path.write_text("x")
    path.chmod(0o600)
    before = path.stat()
    assert await converge(make(path, content="x")) == ["changed mode from 0600 to 0644"]
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert mode_of(path) == 0o644


@pytest.mark.parametrize(
    ("before", "mode", "owner", "is_replaced"),
    [
        (0o666, "0644", 0, True),
        (0o646, "0644", 0, True),
        (0o664, "0644", 0, True),
        (0o644, "0600", 0, False),
        (0o777, "0666", 0, False),
        (0o622, "0666", 0, False),
        (0o644, "0644", 7, True),
    ],
)
@needs_root
async def test_a_file_that_another_user_may_have_open_for_writing_is_replaced_by_a_copy(
    path: Path, before: int, mode: str, owner: int, *, is_replaced: bool
):
    path.write_text("x")
    os.chown(path, owner, owner)
    path.chmod(before)
    inode = path.stat().st_ino
    [action] = await look(make(path, content="x", mode=mode))
    assert action.would == "Would have updated attributes"
    await action.run()
    assert (path.stat().st_ino != inode) is is_replaced
    assert mode_of(path) == int(mode, 8)
    assert path.read_text() == "x"


async def test_a_file_made_unreadable_is_repaired(path: Path):
    await converge(make(path, content="x"))
    path.chmod(0)
    await converge(make(path, content="x"))
    assert mode_of(path) == 0o644


@needs_root
async def test_owner_and_group_are_set_by_id(path: Path):
    await converge(make(path, content="x", owner="1234", group="4321"))
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)
    os.chown(path, 0, 0)
    file = make(path, content="x", owner="1234", group="4321")
    assert await converge(file) == ["changed owner from 0 to 1234, changed group from 0 to 4321"]
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


@needs_root
async def test_owner_and_group_are_set_by_name(path: Path):
    await converge(make(path, content="x", owner="daemon", group="daemon"))
    assert path.owner() == path.group() == "daemon"


@needs_root
async def test_a_setuid_bit_that_the_manifest_can_not_ask_for_is_taken_away(path: Path):
    path.write_text("x")
    path.chmod(0o4755)
    await converge(make(path, mode="0755"))
    assert mode_of(path) == 0o755


async def test_attributes_alone_are_set_and_the_content_stays(path: Path):
    path.write_text("theirs")
    path.chmod(0o600)
    before = path.stat()
    assert await converge(make(path)) == ["changed mode from 0600 to 0644"]
    assert path.read_text() == "theirs"
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_attributes_alone_create_an_empty_file(path: Path):
    await converge(make(path, mode="0600"))
    assert path.read_bytes() == b""
    assert mode_of(path) == 0o600


async def test_a_source_is_copied_and_followed(path: Path):
    source = path.parent / "source"
    source.write_bytes(b"\x00\xffone")
    file = make(path, source=str(source))
    await converge(file)
    assert path.read_bytes() == b"\x00\xffone"
    source.write_bytes(b"two")
    assert await converge(file) == ["updated the content"]
    assert path.read_bytes() == b"two"


async def test_a_big_source_is_copied_and_compared_whole(path: Path):
    source = path.parent / "source"
    source.write_text(BIG)
    file = make(path, source=str(source))
    await converge(file)
    assert path.read_text() == BIG
    source.write_text(BIG[:-1] + "X")
    await converge(file)
    assert path.read_text() == BIG[:-1] + "X"


async def test_a_missing_source_is_an_error_and_the_file_stays(path: Path):
    path.write_text("old")
    with pytest.raises(ResourceError, match="the source /nonexistent does not exist"):
        await look(make(path, source="/nonexistent"))
    path.unlink()
    (action,) = await look(make(path, source="/nonexistent"))
    with pytest.raises(ResourceError, match="the source /nonexistent does not exist"):
        await action.run()
    assert names_in(path.parent) == []


async def test_a_source_that_its_disk_does_not_give_is_to_blame_and_not_the_file(path: Path):
    """Nothing is mapped at the start of this memory: to read there is an input/output error."""
    for before in ([], ["f"]):
        with pytest.raises(ResourceError) as caught:
            await converge(make(path, source="/proc/self/mem"))
        assert caught.value.message == "cannot read the source /proc/self/mem: Input/output error"
        assert caught.value.hint == "its disk is failing: see dmesg"
        assert names_in(path.parent) == before
        path.write_text("old")
    assert path.read_text() == "old"


@pytest.mark.parametrize("source", ["/proc/version", "/sys/class/net/lo/mtu"])
async def test_what_the_kernel_reports_can_be_copied_though_its_size_says_nothing(path: Path, source: str):
    assert os.stat(source).st_size != len(Path(source).read_bytes())
    file = make(path, source=source)
    assert await converge(file) == ["created the file"]
    assert path.read_bytes() == Path(source).read_bytes()
    path.write_bytes(path.read_bytes() + b"more")
    assert await converge(file) == ["updated the content"]


async def test_a_source_that_is_a_fifo_or_a_directory_is_an_error_and_waits_for_no_one(path: Path):
    os.mkfifo(path.parent / "fifo")
    for source in (path.parent / "fifo", path.parent):
        (action,) = await look(make(path, source=str(source)))
        with pytest.raises(ResourceError, match="is not a regular file"):
            await action.run()
    assert names_in(path.parent) == ["fifo"]


async def test_a_symlink_is_replaced_by_the_file_and_its_target_stays(path: Path):
    target = path.parent / "target"
    target.write_text("x")
    target.chmod(0o644)
    path.symlink_to(target)
    assert await converge(make(path, content="x")) == ["replaced a symlink with the file"]
    assert not path.is_symlink()
    assert path.read_text() == "x"
    assert target.read_text() == "x"


async def test_a_dangling_symlink_is_replaced_by_the_file(path: Path):
    path.symlink_to("nowhere")
    await converge(make(path, content="x"))
    assert path.read_text() == "x"
    assert names_in(path.parent) == ["f"]


async def test_attributes_are_never_set_through_a_symlink(path: Path):
    target = path.parent / "target"
    target.write_text("x")
    target.chmod(0o600)
    path.symlink_to(target)
    with pytest.raises(ResourceError, match="is a symlink; refusing to set attributes through it"):
        await look(make(path))
    with pytest.raises(ResourceError, match="is a symlink; refusing to set attributes through it"):
        await hostfs.set_attributes(str(path), MINE)
    assert mode_of(target) == 0o600


@pytest.mark.parametrize("target", ["nowhere", "/etc/hostname/x", "f"])
async def test_a_symlink_that_leads_nowhere_is_a_symlink(path: Path, target: str):
    path.symlink_to(target)
    with pytest.raises(ResourceError, match="is a symlink; refusing to set attributes through it"):
        await look(make(path))
    assert await converge(make(path, ensure="directory")) == ["created the directory in place of a symlink"]


async def test_a_fifo_and_a_socket_are_replaced_by_the_file(path: Path):
    os.mkfifo(path)
    await converge(make(path, content="x"))
    assert path.is_file()
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        await converge(make(path, content="x"))
    assert path.is_file()


async def test_a_missing_parent_is_an_error_that_reports_how_to_repair_it(path: Path):
    file = make(path / "g", content="x")
    (action,) = await look(file)
    with pytest.raises(ResourceError) as caught:
        await action.run()
    assert caught.value.message == f'"{path}" is not a directory'
    assert f"file#{path}" in caught.value.hint
    path.write_text("a file")
    with pytest.raises(ResourceError, match="is not a directory"):
        await action.run()
    assert path.read_text() == "a file"


async def test_a_directory_in_the_way_of_a_file_stays(path: Path):
    (path / "inner").mkdir(parents=True)
    with pytest.raises(ResourceError, match="exists as a directory"):
        await look(make(path, content="x"))
    with pytest.raises(ResourceError, match="cannot write"):
        await hostfs.write_file(str(path), make(path, content="x")._reconciler.desired.content, MINE)
    assert names_in(path.parent) == ["f"]
    assert names_in(path) == ["inner"]


async def test_a_directory_is_created_with_its_parents(path: Path):
    old = os.umask(0o022)
    try:
        await converge(make(path / "a" / "b", ensure="directory", mode="0700"))
    finally:
        os.umask(old)
    assert mode_of(path / "a" / "b") == 0o700
    assert mode_of(path / "a") == mode_of(path) == 0o755


@pytest.mark.parametrize(
    ("mode", "expected"), [("0640", 0o750), ("0600", 0o700), ("0644", 0o755), ("0711", 0o711), ("0", 0)]
)
async def test_a_user_who_may_read_or_write_a_directory_may_enter_it(path: Path, mode: str, expected: int):
    await converge(make(path, ensure="directory", mode=mode))
    assert mode_of(path) == expected
    assert await look(make(path, ensure="directory", mode=mode)) == ()


async def test_the_attributes_of_a_directory_are_repaired_and_what_is_in_it_stays(path: Path):
    path.mkdir()
    (path / "x").write_text("x")
    path.chmod(0o700)
    await converge(make(path, ensure="directory", mode="0755"))
    assert mode_of(path) == 0o755
    assert (path / "x").read_text() == "x"


async def test_the_sticky_bit_of_a_directory_stays(path: Path):
    path.mkdir()
    path.chmod(0o1777)
    assert await look(make(path, ensure="directory", mode="0777")) == ()
    await converge(make(path, ensure="directory", mode="0775"))
    assert mode_of(path) == 0o1775


async def test_a_file_in_the_way_of_a_directory_is_replaced(path: Path):
    path.write_text("x")
    assert await converge(make(path, ensure="directory")) == [
        "created the directory in place of a regular file"
    ]
    assert path.is_dir()


async def test_a_symlink_to_a_directory_as_desired_is_left_alone(path: Path):
    target = path.parent / "target"
    target.mkdir(mode=0o755)
    path.symlink_to(target)
    assert await look(make(path, ensure="directory", mode="0755")) == ()
    await converge(make(path, ensure="directory", mode="0700"))
    assert path.is_dir()
    assert not path.is_symlink()
    assert mode_of(target) == 0o755


@pytest.mark.parametrize("below", ["d", "d/e"])
async def test_a_directory_below_a_file_is_an_error_that_names_the_file(path: Path, below: str):
    path.write_text("x")
    (action,) = await look(make(path / below, ensure="directory"))
    with pytest.raises(ResourceError, match=f'^"{path}" is not a directory$') as caught:
        await action.run()
    assert (
        caught.value.hint
        == f"declare file#{path} with ensure: directory, to go before this, or require the package that brings it"
    )
    assert path.read_text() == "x"


async def test_the_root_is_a_directory_like_any_other():
    found = Path("/").stat()
    root = make(
        "/",
        ensure="directory",
        owner=str(found.st_uid),
        group=str(found.st_gid),
        mode=f"{found.st_mode & 0o777:o}",
    )
    assert await look(root) == ()


async def test_a_file_a_symlink_and_an_empty_directory_are_removed(path: Path):
    target = path.parent / "target"
    target.mkdir()
    (target / "x").write_text("x")
    file = make(path, ensure="absent")
    path.write_text("x")
    assert await converge(file) == ["removed the file"]
    path.symlink_to(target)
    assert await converge(file) == ["removed the symlink"]
    path.symlink_to("nowhere")
    assert await converge(file) == ["removed the symlink"]
    path.mkdir()
    assert await converge(file) == ["removed the directory"]
    assert (target / "x").read_text() == "x"


async def test_a_directory_with_something_in_it_stays_without_force(path: Path):
    (path / "a").mkdir(parents=True)
    with pytest.raises(ResourceError, match="directory is not empty"):
        await look(make(path, ensure="absent"))
    with pytest.raises(ResourceError, match="cannot remove"):
        await hostfs.remove_path(str(path), recursive=False)
    assert (path / "a").is_dir()


async def test_force_removes_a_tree_and_nothing_that_its_symlinks_lead_to(path: Path):
    outside = path.parent / "outside"
    outside.mkdir()
    (outside / "keep").write_text("x")
    (path / "a" / "b").mkdir(parents=True)
    (path / "a" / "b" / "f").write_text("x")
    (path / "a" / "link").symlink_to(outside)
    (path / "filelink").symlink_to(outside / "keep")
    await converge(make(path, ensure="absent", force=True))
    assert names_in(path.parent) == ["outside"]
    assert (outside / "keep").read_text() == "x"


@needs_root
@pytest.mark.parametrize(
    ("mode", "reason", "way_out"),
    [
        (0o1777, "Operation not permitted", "lsattr -d '{deep}/stays' '{deep}' shows i or a"),
        (0o755, "Permission denied", "run as root"),
    ],
)
async def test_force_names_what_is_deep_inside_and_can_not_be_removed(mode, reason, way_out):
    """Somebody else's file in a directory where only its owner may remove it, as an immutable one is to root."""
    nobody = 65534
    with tempfile.TemporaryDirectory() as parent:
        deep = Path(parent, "top/a b/c")
        deep.mkdir(parents=True)
        (deep / "stays").write_text("x")
        deep.chmod(mode)
        for mine in (Path(parent), *list(deep.parents)[:2]):
            os.chown(mine, nobody, nobody)
        os.seteuid(nobody)
        try:
            with pytest.raises(ResourceError) as caught:
                await hostfs.remove_path(f"{parent}/top", recursive=True)
        finally:
            os.seteuid(0)
        assert caught.value.message == f"cannot remove {deep}/stays: {reason}"
        assert way_out.format(deep=deep) in caught.value.hint


MOUNTED_INSIDE = """
import subprocess, sys, trio
from pathlib import Path
from reactor import ResourceError
from reactor import hostfs
top = Path({top!r})
subprocess.run(["mount", "--bind", {source!r}, top / {point!r}], check=True)
try:
    trio.run(lambda: hostfs.remove_path(str(top), recursive=True))
except ResourceError as error:
    print(error.message, error.hint, sep="\\n")
"""


@needs_root
@pytest.mark.parametrize("point", ["a/mount point", "."])
def test_force_removes_nothing_where_something_is_mounted_inside(path: Path, point: str):
    """Least of all what is behind the mount point."""
    source = path.parent / "source"
    source.mkdir()
    (source / "precious").write_text("x")
    (path / "a" / "mount point").mkdir(parents=True)
    (path / "other").write_text("x")
    program = MOUNTED_INSIDE.format(top=str(path), source=str(source), point=point)
    where = os.path.normpath(path / point)
    assert run_in_namespaces(program) == [
        f"cannot remove {path}: something is mounted at {where}",
        f"unmount it first: umount {shlex.quote(where)}",
    ]
    assert (source / "precious").exists()
    assert (path / "other").exists()


STORED_ELSEWHERE = """
import shutil, subprocess, trio
from reactor import ResourceError
from reactor import hostfs
from reactor.hostfs.content import Inline
from reactor.hostfs import Attributes
path = {path!r}
{before}
try:
    trio.run(hostfs.write_file, path, Inline("x"), Attributes({uid}, 0, 0o644))
except ResourceError as error:
    print(error.message, error.hint, sep="\\n")
"""
RUNS_MOUNTED = """
program = path + "-program"
shutil.copy("/bin/sleep", program)
open(path, "x").close()
subprocess.run(["mount", "--bind", program, path], check=True)
subprocess.Popen([program, "60"], process_group=0)
"""


@needs_root
@pytest.mark.parametrize(
    ("uid", "before", "reason", "way_out"),
    [
        (12345, "", "Invalid argument", "the user namespace may not have this owner or group"),
        (0, RUNS_MOUNTED, "Text file busy", "it is a program that runs"),
    ],
)
def test_what_a_namespace_does_not_allow_is_reported_with_a_way_out(
    path: Path, uid: int, before: str, reason: str, way_out: str
):
    message, hint = run_in_namespaces(
        STORED_ELSEWHERE.format(path=str(path), uid=uid, before=before),
        options=("--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"),
    )
    assert message == f"cannot write {path}: {reason}"
    assert hint.startswith(way_out)


@pytest.mark.parametrize("descriptors", [None, 600], ids=["recursion", "descriptors"])
async def test_a_tree_is_removed_however_deep_a_user_has_nested_it(path: Path, descriptors: int | None):
    path.mkdir()
    here = os.open(path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        os.mkdir("e", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    found = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors or found[0], found[1]))
    try:
        await hostfs.remove_path(str(path), recursive=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, found)
        is_left = path.exists()
        subprocess.run(["rm", "-rf", path], check=True)
    assert not is_left


async def test_force_on_a_symlink_removes_the_symlink(path: Path):
    target = path.parent / "target"
    target.mkdir()
    (target / "x").write_text("x")
    path.symlink_to(target)
    await converge(make(path, ensure="absent", force=True))
    assert (target / "x").read_text() == "x"


async def test_absent_below_a_missing_directory_or_a_file_is_as_desired(path: Path):
    assert await look(make(path / "a" / "b", ensure="absent")) == ()
    path.write_text("x")
    assert await look(make(path / "a", ensure="absent")) == ()


@pytest.mark.parametrize("failing", ["write", "fchmod", "rename"])
async def test_a_failure_while_writing_leaves_the_old_file_and_no_litter(
    path: Path, failing: str, monkeypatch
):
    path.write_text("old")

    def fail(*_args, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (action,) = await look(make(path, content="new", mode="0755"))
    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(ResourceError) as caught:
        await action.run()
    monkeypatch.undo()
    assert caught.value.message == f"cannot write {path}: No space left on device"
    assert caught.value.hint == "the file system is full: free some space or inodes"
    assert path.read_text() == "old"
    assert names_in(path.parent) == ["f"]


async def test_a_write_that_failed_holds_no_directory_while_its_error_is_known(path: Path):
    """A directory that is held open keeps its file system busy: nobody could unmount it."""

    class Unwritable(Inline):
        async def copy_to(self, fd: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = open_descriptors()
    with pytest.raises(ResourceError) as known:
        await write_file(str(path), Unwritable(BIG), MINE)
    assert open_descriptors() <= before, known


async def test_the_longest_name_there_can_be_is_no_problem(path: Path):
    name = path.parent / ("é" * 127)
    await converge(make(name, content="x"))
    assert names_in(path.parent) == [name.name]


IN_A_MOUNT = """
import trio, subprocess
from pathlib import Path
from file_worlds import converge, make, names_in
target = Path({target!r})
subprocess.run(["mount", "--bind", {source!r}, target], check=True)
trio.run(converge, make(target, content="short"))
trio.run(converge, make(target, content="short", mode="0600"))
"""


@needs_root
def test_a_bind_mounted_file_is_written_in_place(path: Path):
    source = path.parent / "source"
    source.write_text("something longer")
    path.write_text("below the mount")
    run_in_namespaces(IN_A_MOUNT.format(target=str(path), source=str(source)))
    assert source.read_text() == "short"
    assert mode_of(source) == 0o600
    assert path.read_text() == "below the mount"
    assert sorted(names_in(path.parent)) == ["f", "source"]


FROM_A_DISK_IN_MEMORY = """
import os, subprocess, trio
from pathlib import Path
from file_worlds import converge, make
from reactor.hostfs import fsync
target, source = Path({directory!r}, "f"), Path({source!r})
subprocess.run(["mount", "-t", "ramfs", "ramfs", target.parent], check=True)
target.touch()
subprocess.run(["mount", "--bind", source, target], check=True)
tmpfs, ramfs = 0x01021994, 0x858458F6  # the source counts as on a disk, also where /tmp is in memory
fsync._MEMORY = {{ramfs}}
fsync._SYNCFS_SUFFICES.add(tmpfs)
flush = fsync.fsync_or_syncfs
def report(descriptors):
    print(*(os.path.basename(os.readlink(f"/proc/self/fd/{{fd}}")) for fd in descriptors))
    flush(descriptors)
fsync.fsync_or_syncfs = report
trio.run(converge, make(target, content="short"))
"""


@needs_root
def test_a_file_of_a_disk_that_is_mounted_in_a_directory_in_memory_is_flushed(tmp_path: Path, path: Path):
    """What is known of the directory says nothing of the file: its disk would count as memory from then on."""
    path.write_text("old")
    (tmp_path / "memory").mkdir()
    program = FROM_A_DISK_IN_MEMORY.format(directory=str(tmp_path / "memory"), source=str(path))
    assert run_in_namespaces(program) == ["f"]
    assert path.read_text() == "short"


async def test_noop_changes_nothing(tmp_path: Path):
    """Observing and planning whatever the world is, and making the diffs, leaves every inode as it was."""
    for name in ("file", "other"):
        (tmp_path / name).write_text(name)
    (tmp_path / "dir" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dirlink").symlink_to("dir")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    before = picture(tmp_path)
    for name in ("file", "dir", "link", "dirlink", "dangling", "fifo", "missing", "missing/deep"):
        for properties in (
            {"content": "y"},
            {"source": str(tmp_path / "other")},
            {},
            {"ensure": "directory"},
            {"ensure": "absent"},
            {"ensure": "absent", "force": True},
        ):
            try:
                plan = await look(make(tmp_path / name, mode="0604", **properties))
            except ResourceError:
                continue
            for action in plan:
                if action.diff is not None:
                    await (await action.diff())()
    assert picture(tmp_path) == before


async def test_a_dry_run_says_what_is_in_the_way_of_something_new(path: Path):
    path.write_text("a file")
    for wish in ({"content": "x"}, {"ensure": "directory", "mode": "0755"}):
        for below in ("a", "a/b") if "ensure" in wish else ("a",):
            file = make(path / below, **wish)
            with pytest.raises(ResourceError) as predicted:
                await file.preflight(await file.observe())
            with pytest.raises(ResourceError) as made:
                await converge(file)
            assert predicted.value.message == made.value.message == f'"{path}" is not a directory'


async def test_a_dry_run_knows_that_a_directory_is_made_with_those_above_it(path: Path):
    file = make(path / "a/b", ensure="directory", mode="0755")
    await file.preflight(await file.observe())
    assert await converge(file) == ["created the directory"]
