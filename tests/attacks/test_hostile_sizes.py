"""Files of any length: whoever owns a directory may put a sparse file of terabytes where we manage a short one.

None is read to its end, copied or taken into memory; a run that ends does not wait for one. What reads all of such a file
would take hours, and these tests with it.
"""

import hashlib
import os
import threading
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
import trio
from archive_server import ArchiveServer
from archive_worlds import sha256, tar_of

from reactor import ResourceError, in_thread
from reactor.backup.store import Store
from reactor.hostfs import checksum_of, copy, digest_of
from reactor.hostfs.content import Source
from reactor.resource.backup_store import backup_store, state_directory_for
from reactor.resources import shared_lines, textfile
from reactor.resources.archive import Archive
from reactor.resources.archive.archive_file import verified
from reactor.resources.file import File
from reactor.resources.health.goss.file import FileRule
from reactor.resources.health.goss.matchers import Text, matches
from reactor.resources.health.goss.patterns import lines_of
from reactor.resources.npm import Npm
from reactor.resources.package import Package
from reactor.resources.package.package_files import PackageFiles
from reactor.resources.pip.requirements import read_requirements
from reactor.resources.scaffold import Scaffold
from reactor.testing.story import converge_once

ENDLESS = 8 << 40
STRANGER = 12345
NOBODY = 65534
ME = {"owner": str(os.getuid()), "group": str(os.getgid())}


@pytest.fixture(autouse=True)
def state(tmp_path_factory):
    directory = tmp_path_factory.mktemp("state")
    with state_directory_for(str(directory)):
        yield directory


@pytest.fixture
def server():
    with ArchiveServer() as server:
        yield server


def lengthen(path: Path, size: int = ENDLESS) -> Path:
    """Let the file be so long; nothing of that is on the disk."""
    path.touch()
    os.truncate(path, size)
    return path


async def test_a_file_of_a_scaffold_is_made_again(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/a.conf").write_text("ours\n")
    (tmp_path / "out").mkdir()
    lengthen(tmp_path / "out/a.conf")
    scaffold = Scaffold(name=f"{tmp_path}/out", ensure="present", source=f"{tmp_path}/templates")
    await converge_once(scaffold)
    assert (tmp_path / "out/a.conf").read_text() == "ours\n"


async def test_a_file_of_a_scaffold_is_made_again_also_where_commands_have_made_another(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/a.conf").write_text("ours\n")
    made = "sh -c 'echo made >> \"$1\"' sh {}"
    scaffold = Scaffold(
        name=f"{tmp_path}/out", ensure="present", source=f"{tmp_path}/templates", post=[{"*": made}]
    )
    await converge_once(scaffold)
    lengthen(tmp_path / "out/a.conf")
    await converge_once(scaffold)
    assert (tmp_path / "out/a.conf").read_text() == "ours\nmade\n"


async def test_a_source_for_which_there_is_no_room_does_not_fill_the_disk(tmp_path):
    lengthen(tmp_path / "source")
    wanted = File(name=f"{tmp_path}/f", ensure="present", source=f"{tmp_path}/source", mode="0644", **ME)
    _, story = await converge_once(wanted)
    assert "is larger than what is free there" in story.checks(wanted.ref)[-1].error
    assert os.listdir(tmp_path) == ["source"]


@pytest.mark.parametrize("length", [0, 100])
async def test_a_source_that_becomes_endless_as_it_is_copied_is_left(tmp_path, length):
    source = os.open(lengthen(tmp_path / "source", length), os.O_RDWR)
    target = os.open(tmp_path / "f", os.O_RDWR | os.O_CREAT)

    def lengthened(fd, size):
        os.truncate(fd, ENDLESS)
        return os.read(fd, size)

    try:
        with pytest.raises(ResourceError, match="has grown while it was copied"):
            await copy(source, target, lengthened)
        assert os.fstat(target).st_size < 1 << 20
    finally:
        os.close(source)
        os.close(target)


async def test_two_files_that_become_endless_are_compared_in_a_thread(tmp_path):
    """Both are of the user who lengthens them after our look."""
    ours, source = lengthen(tmp_path / "f", 1 << 20), lengthen(tmp_path / "source", (1 << 20) + 1)
    fd, threads = os.open(ours, os.O_RDONLY), set()

    class Noting(Source):
        def _piece(self, fd, size):
            threads.add(threading.get_ident())
            return super()._piece(fd, size)

    try:
        assert not await Noting(str(source)).equals(fd, 100)
    finally:
        os.close(fd)
    assert len(threads) == 2


async def test_a_file_from_a_server_is_made_again(tmp_path, server):
    server.serve(b"ours\n")
    lengthen(tmp_path / "f")
    source = server.url("good", "app.conf")
    wanted = File(
        name=f"{tmp_path}/f", ensure="present", source=source, checksum=sha256(b"ours\n"), mode="0644", **ME
    )
    await converge_once(wanted)
    assert (tmp_path / "f").read_text() == "ours\n"


def test_a_file_longer_than_allowed_is_not_read(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(os, "pread", lambda *asked: read.append(asked) or b"")
    with lengthen(tmp_path / "app.tar.gz").open() as file:
        assert digest_of(file.fileno(), most=4 << 30) is None
    assert read == []


async def test_an_archive_is_fetched_again(tmp_path, server):
    body = tar_of({"a": b"x"})
    server.serve(body)
    lengthen(tmp_path / "app.tar.gz")
    wanted = Archive(
        name=f"{tmp_path}/app.tar.gz", ensure="present", url=server.url(), checksum=sha256(body), **ME
    )
    await converge_once(wanted)
    assert (tmp_path / "app.tar.gz").read_bytes() == body


def test_no_more_of_an_archive_is_copied_than_it_may_have(tmp_path):
    archive = lengthen(tmp_path / "app.tar")
    archive.chmod(0o666)
    staging = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with (
            pytest.raises(ResourceError, match="was changed"),
            verified(str(archive), None, staging, 1 << 20),
        ):
            raise AssertionError("it is unpacked")
    finally:
        os.close(staging)


async def test_what_reverse_would_keep_is_refused_and_not_kept(tmp_path, state):
    lengthen(tmp_path / "f")
    wanted = File(
        name=f"{tmp_path}/f", ensure="present", content="x", mode="0644", meta={"reverse": True}, **ME
    )
    backup_store.set(Store(f"{state}/backups"))
    with pytest.raises(ResourceError, match="larger than 1 GiB"):
        await wanted.reversal(await wanted.observe())
    assert not (state / "backups/held").exists()


def package(source: Path, checksum: str) -> Package:
    return Package(name="extra", ensure="present", provider="apt", source=str(source), checksum=checksum)


async def says_nothing(_path: str) -> str:
    raise AssertionError("it is looked into")


@pytest.mark.parametrize(("size", "said"), [(ENDLESS, "larger than 4 GiB"), (1 << 20, "has the SHA-256")])
async def test_a_package_that_is_not_what_the_checksum_says_is_not_copied(tmp_path, state, size, said):
    wanted = package(lengthen(tmp_path / "extra.deb", size), "0" * 64)
    with (
        PackageFiles("apt", says_nothing, says_nothing, lambda one, other: 0) as files,
        pytest.raises(ResourceError, match=said),
    ):
        await files.copy_of(wanted._desired)
    assert not (state / "private").exists()


@pytest.mark.parametrize(
    "read",
    [
        checksum_of,
        partial(FileRule(sha512="x")._find),
    ],
    ids=["checksum", "goss"],
)
async def test_a_run_that_ends_does_not_wait_for_the_digest_of_an_endless_file(tmp_path, read):
    lengthen(tmp_path / "f")
    with trio.move_on_after(0.3) as scope:
        await in_thread(read, f"{tmp_path}/f")
    assert scope.cancelled_caught


def test_the_digest_is_that_of_all_there_is_up_to_the_bound(tmp_path):
    (tmp_path / "f").write_bytes(body := b"x" * 3_000_000)
    fd = os.open(tmp_path / "f", os.O_RDONLY)
    try:
        assert digest_of(fd) == digest_of(fd, most=len(body)) == sha256(body)
        assert digest_of(fd, "md5") == hashlib.md5(body).hexdigest()
        assert digest_of(fd, most=len(body) - 1) is None
    finally:
        os.close(fd)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
@pytest.mark.parametrize(
    ("content", "said"),
    [(b"x" * (4 << 20) + b"\n", "at most 4194304 are read"), (b"\n" * 20_001, "more than 20000 lines")],
    ids=["bytes", "lines"],
)
def test_lines_of_a_stranger_that_would_delay_other_repairs_are_not_looked_at(tmp_path, content, said):
    path = tmp_path / "authorized_keys"
    path.write_bytes(content)
    assert len(shared_lines.find(str(path)).lines) == content.count(b"\n")
    os.chown(path, STRANGER, STRANGER)
    with pytest.raises(ResourceError, match=said):
        shared_lines.find(str(path))


@pytest.mark.parametrize("size", [ENDLESS, 17 << 20])
def test_a_short_file_of_settings_is_not_read_to_its_end(tmp_path, size):
    path = lengthen(tmp_path / "requirements.txt", size)
    with pytest.raises(ResourceError, match="at most 16777216 are read"):
        textfile.read(str(path))


def test_no_end_of_requirements_is_compared():
    with pytest.raises(ResourceError, match="more than 2000 packages"):
        read_requirements("\n".join(f"p{number}" for number in range(2001)))
    assert read_requirements(f"a; {'(' * 100_000}").is_opaque


def test_content_is_matched_line_by_line_as_str_splitlines_has_them():
    for text in (
        "",
        "a",
        "a\n",
        "\n\n",
        "a\r\nb\rc\n\rd",
        "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029",
        "\r\n\n",
    ):
        assert list(lines_of(text)) == text.splitlines()


def test_lines_without_end_are_neither_listed_nor_taken_for_those_that_were_read(tmp_path):
    """A check reads a log of another user: what is behind the part that is read could be the error that must not be there."""
    path = lengthen(tmp_path / "log", (64 << 20) + 1)
    with pytest.raises(ResourceError, match="more than 64 MiB"):
        FileRule(contents=["!error"])._find(str(path))
    tracemalloc.start()
    try:
        assert matches(Text("\n" * (1 << 18)), ["!error", "!/panic/"])
        assert tracemalloc.get_traced_memory()[1] < 1 << 20, "a list of them takes two MiB"
    finally:
        tracemalloc.stop()
    with pytest.raises(ResourceError, match="more than 1000000 lines"):
        matches(Text("\n" * (1 << 20)), {"contain-element": "error"})


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
async def test_what_a_user_has_piled_up_is_read_in_a_thread(tmp_path, monkeypatch):
    """A million packages must not keep the event loop from other repairs, and one that can't be decoded not the kind."""
    package = tmp_path / "tools/lib/node_modules/one"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": ' + "[" * 100_000)
    for path in (tmp_path / "tools", *(tmp_path / "tools").rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    threads, read = [], Npm.read_installed

    def seen(self, directory):
        threads.append(threading.current_thread())
        return read(self, directory)

    monkeypatch.setattr(Npm, "read_installed", seen)
    tools = Npm(name=f"{tmp_path}/tools", user=str(NOBODY), packages=["one"])
    assert not (await tools.observe()).installed
    assert threading.main_thread() not in threads
