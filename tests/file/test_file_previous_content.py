"""What a file resource replaces or removes is handed to the backup store, if there is one."""

import errno
import os
import tempfile
from pathlib import Path

import pytest
import trio
from file_worlds import converge, look, make, mode_of

from reactor.hostfs import backups, safe_open
from reactor.hostfs.temp_files import rename_if_free
from reactor.mountinfo import parse_mount
from reactor.resource.backup_store import backup_store
from reactor.resource.plan import ResourceError
from reactor.resources.file import File


class Box:
    """A store that remembers what it was given; ``error`` is what it fails with."""

    def __init__(self, error=None):
        self.kept = []
        self.error = error

    async def keep(self, path, ref, fd):
        if self.error is not None:
            raise self.error
        self.kept.append((path, ref, os.pread(fd, 1000, 0).decode(), mode_of_open(fd)))


def mode_of_open(fd):
    return os.fstat(fd).st_mode & 0o7777


@pytest.fixture
def box():
    token = backup_store.set(kept := Box())
    yield kept
    backup_store.reset(token)


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o640)
    return path


@pytest.mark.parametrize(
    "wish", [{"content": "new"}, {"ensure": "absent"}, {"ensure": "directory", "mode": "0755"}]
)
async def test_what_is_replaced_or_removed_is_kept_with_its_mode(box, said, old, wish):
    await converge(make(old, **wish))
    assert box.kept == [(str(old), f"file#{old}", "old", 0o640)]
    assert said == []


@pytest.mark.parametrize("wish", [{"content": "old"}, {}])
async def test_where_only_attributes_change_there_is_nothing_to_keep(box, old, wish):
    await converge(make(old, **wish))
    assert mode_of(old) == 0o644
    assert box.kept == []


async def test_what_was_no_regular_file_is_not_kept(box, said, tmp_path):
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo", "new"):
        await converge(make(tmp_path / name, content="x"))
    (tmp_path / "gone").symlink_to("/etc/passwd")
    await converge(make(tmp_path / "gone", ensure="absent"))
    assert box.kept == []
    assert said == []


@pytest.mark.usefixtures("on_disk")
async def test_where_files_are_found_by_name_only_what_is_kept_was_opened_while_it_had_one(
    box, said, old, monkeypatch
):
    """As FUSE wants it: here the mount table and open(2) only speak as if it were one."""
    number, opened = os.stat(old).st_dev, os.open
    table = [f"9 1 {os.major(number)}:{os.minor(number)} / / rw - fuse.bindfs somewhere rw"]

    def open_while_it_has_its_name(path, *arguments, **options):
        if str(path).startswith("/proc/self/fd/") and not os.path.exists(os.readlink(path)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", open_while_it_has_its_name)
    monkeypatch.setattr(backups, "read_mounts", lambda: map(parse_mount, table))
    backups._knows_by_name.cache_clear()
    await converge(make(old, content="new"))
    backups._knows_by_name.cache_clear()
    assert Path(old).read_text() == "new"
    assert [text for _, _, text, _ in box.kept] == ["old"]
    assert said == []


async def test_content_that_the_validator_refuses_leaves_nothing_to_keep(box, old):
    file = make(old, content="new", validate="false {path}")
    with pytest.raises(Exception, match="validate"):
        await converge(file)
    assert box.kept == []


async def test_a_backup_that_fails_is_said_and_fails_nothing(said, old):
    token = backup_store.set(Box(OSError(28, "No space left on device")))
    await converge(make(old, content="new"))
    backup_store.reset(token)
    assert old.read_text() == "new"
    assert said == [f"no backup of {old}: No space left on device"]


async def test_without_a_store_the_old_file_is_not_even_opened(old, monkeypatch):
    opened = []
    real, straight = os.open, safe_open._syscall
    await converge(make(old.with_name("g"), content="x"))  # so that it is known what file system this is
    file = make(old, ensure="absent")
    monkeypatch.setattr(
        os, "open", lambda path, *more, **options: opened.append(path) or real(path, *more, **options)
    )
    plan = await look(file)
    monkeypatch.setattr(
        safe_open, "_syscall", lambda *words: opened.append(os.fsdecode(words[2])) or straight(*words)
    )
    for action in plan:
        await action.run()
    assert opened == [str(old.parent)]
    assert not old.exists()


async def test_a_file_that_gets_a_second_name_after_the_check_is_neither_kept_nor_shown(box, said):
    """In memory. The name may be a link that another user has made to a file of root."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        path, secret = Path(name, "f"), Path(name, "secret")
        path.write_text("old\n")
        secret.write_text("secret\n")
        file = make(path, content="new\n")
        await look(file)
        (action,) = await look(file)
        diff = await action.diff()
        path.unlink()
        path.hardlink_to(secret)
        await action.run()
        assert path.read_text() == "new\n"
        assert box.kept == []
        assert said == [f"no backup of {path}: it had another name"]
        assert "secret" not in (await diff()).replace(name, "")


async def test_a_file_that_appears_after_the_check_found_none_is_kept(box):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        path = Path(name, "f")
        file = make(path, content="new\n")
        (action,) = await look(file)
        path.write_text("of another program")
        await action.run()
        assert path.read_text() == "new\n"
        assert [content for _, _, content, _ in box.kept] == ["of another program"]
        assert os.listdir(name) == ["f"]


def test_a_rename_to_a_free_name_replaces_nothing():
    """Also a symlink that leads nowhere stays."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        directory = os.open(name, os.O_PATH)
        Path(name, "new").write_text("new")
        Path(name, "dangling").symlink_to("nowhere")
        for taken in (".", "dangling"):
            assert not rename_if_free("new", taken, directory)
        assert not rename_if_free("missing", "free", directory)
        assert rename_if_free("new", "free", directory)
        assert sorted(os.listdir(name)) == ["dangling", "free"]
        os.close(directory)


async def test_what_must_be_overwritten_in_place_is_kept_before(box, old, monkeypatch):
    """A rename over a mount point fails like this."""

    def busy(*_names, **_directories):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    inode = old.stat().st_ino
    monkeypatch.setattr(os, "rename", busy)
    await converge(make(old, content="new"))
    assert [content for _, _, content, _ in box.kept] == ["old"]
    assert old.read_text() == "new"
    assert old.stat().st_ino == inode


async def test_what_a_link_replaces_is_kept(box, said, old):
    await converge(File(name=str(old), ensure="link", target="t", force=True))
    assert box.kept == [(str(old), f"file#{old}", "old", 0o640)]
    assert said == []


@pytest.mark.usefixtures("on_disk")
async def test_what_was_replaced_is_kept_if_the_run_is_cancelled_meanwhile(box, old, monkeypatch):
    rename, scope, token = os.rename, trio.CancelScope(), trio.lowlevel.current_trio_token()

    def cancelled_meanwhile(*names, **directories):
        rename(*names, **directories)
        trio.from_thread.run_sync(scope.cancel, trio_token=token)

    monkeypatch.setattr(os, "rename", cancelled_meanwhile)
    with scope:
        await converge(make(old, content="new"))
    assert scope.cancelled_caught
    assert old.read_text() == "new"
    assert [content for _, _, content, _ in box.kept] == ["old"]


@pytest.mark.usefixtures("on_disk")
async def test_what_was_replaced_is_kept_if_its_directory_can_not_be_flushed(box, old, monkeypatch):
    fsync = os.fsync

    def broken(fd):
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(ResourceError, match="Input/output error"):
        await converge(make(old, content="new"))
    assert old.read_text() == "new"
    assert [content for _, _, content, _ in box.kept] == ["old"]
