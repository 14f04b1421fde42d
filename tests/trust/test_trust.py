"""Whose files are believed, on all the ways to them. The attacks on the commands are in `tests/cli`."""

import errno
import gc
import grp
import os
import stat
import threading

import pytest

from reactor.trust import trees
from reactor.trust.inputs import (
    open_input,
    require_input_tree,
    require_own_directory,
    trust_everybody,
    trust_owners,
)
from reactor.trust.rule import DistrustedError, Trust

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")

MALLORY = 12345


def text(path, trust=None):
    with open(path, encoding="utf-8", opener=(trust or Trust()).open) as file:
        return file.read()


@pytest.fixture
def file(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    path = tmp_path / "a/b/file"
    path.write_text("x")
    return path


def test_symlinks_of_ours_are_followed_as_the_kernel_does(tmp_path, file):
    (tmp_path / "relative").symlink_to("a/b/../b/file")
    (tmp_path / "absolute").symlink_to(file)
    (tmp_path / "directory").symlink_to("a")
    (tmp_path / "a/up").symlink_to("..")
    for way in (
        "relative",
        "absolute",
        "directory/b/file",
        "directory/up/relative",
        "a//./b/file",
        "directory/../a/b/file",
    ):
        assert text(f"{tmp_path}/{way}") == "x"


def test_a_relative_path_starts_at_the_current_directory(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    assert text("file") == "x"
    assert text("../b/file") == "x"
    os.chown(file.parent, MALLORY, MALLORY)
    with pytest.raises(DistrustedError, match=f"{file.parent} belongs to {MALLORY}"):
        text("file")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nothing", errno.ENOENT),
        ("nothing/file", errno.ENOENT),
        ("file/below", errno.ENOTDIR),
        ("loop", errno.ELOOP),
        ("", errno.ENOENT),
    ],
)
def test_what_can_not_be_opened_fails_as_open_does(file, name, error):
    (file.parent / "loop").symlink_to("loop")
    path = f"{file.parent}/{name}" if name else ""
    with pytest.raises(OSError) as plain:
        os.open(path, os.O_RDONLY)
    with pytest.raises(OSError) as checked:
        Trust().open(path)
    assert (type(checked.value), checked.value.errno) == (type(plain.value), plain.value.errno)
    assert plain.value.errno == error


def test_a_symlink_of_another_user_on_the_way_is_not_followed_even_to_a_file_of_ours(tmp_path, file):
    (tmp_path / "way").symlink_to("a")
    os.chown(tmp_path / "way", MALLORY, MALLORY, follow_symlinks=False)
    with pytest.raises(DistrustedError, match=f"{tmp_path}/way belongs to {MALLORY}") as caught:
        text(tmp_path / "way/b/file")
    assert caught.value.fix == f"chown -h root {tmp_path}/way"


def test_a_symlink_of_root_that_another_user_has_linked_is_not_followed(tmp_path, file):
    """With fs.protected_hardlinks=0, anybody can put a link of root's into a directory that all may write to."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (tmp_path / "link").symlink_to(file)
    os.link(tmp_path / "link", shared / "link", follow_symlinks=False)
    assert text(tmp_path / "link") == "x"
    with pytest.raises(DistrustedError, match="hard links"):
        text(shared / "link")


def test_a_directory_that_all_may_write_to_must_be_sticky(tmp_path, file):
    file.parent.chmod(0o1777)
    assert text(file) == "x"
    file.parent.chmod(0o777)
    with pytest.raises(DistrustedError, match=f"{file.parent} can be written by every user"):
        text(file)


def test_what_is_kept_may_be_in_a_sticky_directory_but_not_directly(tmp_path, file):
    file.parent.chmod(0o1777)
    with pytest.raises(DistrustedError):
        require_own_directory(str(file.parent))
    (file.parent / "own").mkdir(0o700)
    require_own_directory(str(file.parent / "own"))
    require_own_directory(str(file.parent / "not there yet"))


def test_the_group_of_root_and_the_group_of_a_user_alone_may_write(file):
    file.chmod(0o664)
    assert text(file) == "x"
    nobody = next(each for each in grp.getgrall() if each.gr_gid >= 100)
    os.chown(file, 0, nobody.gr_gid)
    with pytest.raises(DistrustedError, match=f"can be written by the group {nobody.gr_name}") as caught:
        text(file)
    assert caught.value.fix == f"chmod g-w {file}"
    assert text(file, Trust(groups=[nobody.gr_gid])) == "x"


def test_a_pipe_and_a_device_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=["piped"])
    writer.start()
    assert text(tmp_path / "pipe") == "piped"
    writer.join()
    assert text("/dev/null") == ""


def test_no_one_waits_for_the_writer_of_a_pipe_of_another_user(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.chown(tmp_path / "pipe", MALLORY, MALLORY)
    with pytest.raises(DistrustedError):
        Trust().open(str(tmp_path / "pipe"))


def test_an_open_file_is_looked_at_by_itself(tmp_path, file):
    """Its text in /proc does not say where it is: it may have been removed."""
    with file.open() as opened:
        file.unlink()
        assert text(f"/proc/self/fd/{opened.fileno()}") == "x"
        os.fchown(opened.fileno(), MALLORY, MALLORY)
        with pytest.raises(DistrustedError):
            text(f"/dev/fd/{opened.fileno()}")


def test_no_descriptor_is_left_open(file):
    gc.collect()  # what other tests have left open is not closed in between
    before = set(os.listdir("/proc/self/fd"))
    os.chown(file, MALLORY, MALLORY)
    with pytest.raises(DistrustedError):
        Trust().open(str(file))
    assert set(os.listdir("/proc/self/fd")) <= before


def test_the_policy_of_the_process_ends_with_its_block(file, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    os.chown(file, MALLORY, MALLORY)

    def opens():
        try:
            os.close(open_input(str(file)))
        except DistrustedError:
            return False
        return True

    assert not opens()
    with trust_owners([MALLORY]):
        assert opens()
    with trust_everybody():
        assert opens()
        with trust_owners():
            assert not opens()
    assert not opens()
    monkeypatch.setenv("SUDO_UID", str(MALLORY))
    assert opens()
    with trust_owners(caller=False):
        assert not opens()


def test_many_files_of_one_directory_cost_one_look_at_what_is_above(tmp_path, file, monkeypatch):
    looked = []
    lstat = os.lstat

    def counting(path):
        looked.append(path)
        return lstat(path)

    for number in range(20):
        (file.parent / str(number)).write_text("")
    trust = Trust()
    monkeypatch.setattr(os, "lstat", counting)
    for number in range(20):
        os.close(trust.open(f"{file.parent}/{number}"))
    assert looked.count(str(file.parent)) <= 2
    assert stat.S_ISDIR(lstat(file.parent).st_mode)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tree/pool/main").mkdir(parents=True)
    (tmp_path / "tree/pool/main/a.deb").touch()
    (tmp_path / "elsewhere/deep").mkdir(parents=True)
    (tmp_path / "elsewhere/deep/b.deb").touch()
    (tmp_path / "tree/pool/elsewhere").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "tree/pool/again").symlink_to(tmp_path / "tree")
    (tmp_path / "tree/nowhere").symlink_to(tmp_path / "missing")
    return tmp_path / "tree"


def test_a_tree_of_ours_may_be_used_and_so_may_one_that_is_missing(tree):
    require_input_tree(str(tree))
    require_input_tree(str(tree / "missing"))


@pytest.mark.parametrize(
    "of",
    ["", "pool", "pool/main/a.deb", "pool/elsewhere", "pool/elsewhere/deep", "pool/elsewhere/deep/b.deb"],
)
@pytest.mark.parametrize(
    "give", [lambda path: os.lchown(path, MALLORY, MALLORY), lambda path: path.chmod(0o777)]
)
def test_one_thing_in_a_tree_that_others_can_change_is_enough(tree, of, give):
    give(tree / of)
    with pytest.raises(DistrustedError):
        require_input_tree(str(tree))


def test_a_tree_is_looked_at_up_to_a_limit(tree, monkeypatch):
    monkeypatch.setattr(trees, "_MOST", 7)
    with pytest.raises(OSError, match="more than 7 files"):
        require_input_tree(str(tree))
