"""What is good is unpacked as it was packed; what is not is refused, and nothing gets out of the directory."""

import errno
import gzip
import io
import os
import random
import resource
import shutil
import stat
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from descriptors import open_descriptors
from hostile_archives import CORPUS, DIR, GOOD, HARD, MARK, PACKED, SYM, info, tar, zipped
from hypothesis import example, given
from hypothesis import strategies as st

from reactor import UnpackingError, UnpackingLimits, archive_format, unpack

LIMITS = UnpackingLimits()


def unpacked(tmp_path, data, form="tar", limits=LIMITS, **options):
    archive, into = tmp_path / "archive", tmp_path / "in"
    archive.write_bytes(data)
    into.mkdir()
    unpack(str(archive), str(into), form, limits=limits, **options)
    return into


def all_below(root):
    return {os.path.relpath(os.path.join(at, name), root) for at, ds, fs in os.walk(root) for name in ds + fs}


@pytest.mark.parametrize("name", CORPUS)
def test_a_hostile_archive_is_refused_and_nothing_is_written_outside(tmp_path, name):
    form, data, message = CORPUS[name]
    passwd = Path("/etc/passwd").read_bytes()
    (tmp_path / "evil").write_text("as it was")
    with pytest.raises(UnpackingError, match=message):
        unpacked(tmp_path, data, form)
    assert {path.name for path in tmp_path.iterdir()} == {"archive", "in", "evil"}
    assert (tmp_path / "evil").read_text() == "as it was"
    assert Path("/etc/passwd").read_bytes() == passwd
    assert not Path("/tmp/evil").exists()


@pytest.mark.parametrize("form", ["tar", *PACKED])
def test_what_is_in_a_tar_comes_out(tmp_path, form):
    data = PACKED.get(form, lambda plain: plain)(GOOD)
    into = unpacked(tmp_path, data, form)
    assert all_below(into) == {"f", "g", "noise"}
    assert (into / "g").read_text() == MARK
    assert (into / "noise").stat().st_size == 200_000


def test_what_is_in_a_zip_comes_out(tmp_path):
    link = ("b/link", stat.S_IFLNK | 0o777, "../a/f")
    into = unpacked(tmp_path, zipped("a/f", ("run", stat.S_IFREG | 0o755, "x"), "d/", link), "zip")
    assert all_below(into) == {"a", "a/f", "b", "b/link", "d", "run"}
    assert (into / "b/link").read_text() == MARK
    assert stat.S_IMODE((into / "run").stat().st_mode) == 0o755
    assert stat.S_IMODE((into / "a/f").stat().st_mode) == 0o600


def test_several_streams_in_one_file_are_one_archive(tmp_path):
    for form, pack in PACKED.items():
        (tmp_path / form).mkdir()
        into = unpacked(tmp_path / form, pack(GOOD[:700]) + pack(GOOD[700:]), form)
        assert (into / "noise").stat().st_size == 200_000


def test_links_that_stay_inside_are_taken(tmp_path):
    members = ["a/f", info("b/c/up", SYM, "../../a/f"), info("dot", SYM, "."), info("gone", SYM, "b/nothing")]
    into = unpacked(tmp_path, tar(*members, info("hard", HARD, "a/f")))
    assert (into / "b/c/up").read_text() == MARK
    assert (into / "hard").stat().st_ino == (into / "a/f").stat().st_ino
    assert os.readlink(into / "gone") == "b/nothing"


def test_a_directory_may_come_twice(tmp_path):
    into = unpacked(tmp_path, tar(info("d", DIR), "d/f", info("d/", DIR), info(".", DIR)))
    assert all_below(into) == {"d", "d/f"}


def test_nothing_runs_as_another_user_and_only_the_owner_writes(tmp_path):
    file, directory = info("f"), info("d", DIR)
    file.mode, directory.mode = 0o6777, 0o7002
    file.uid = directory.uid = 12345
    file.mtime = 1_000_000_000
    into = unpacked(tmp_path, tar(file, directory))
    assert stat.S_IMODE((into / "f").stat().st_mode) == 0o755
    assert stat.S_IMODE((into / "d").stat().st_mode) == 0o700
    assert {(into / name).stat().st_uid for name in "fd"} == {os.getuid()}
    assert (into / "f").stat().st_mtime == 1_000_000_000


@pytest.mark.skipif("os.getuid() != 0")
def test_everything_belongs_to_the_owner_that_was_asked_for(tmp_path):
    members = ["a/f", info("b", DIR), info("link", SYM, "a"), info("hard", HARD, "a/f")]
    into = unpacked(tmp_path, tar(*members), owner=(1234, 2345))
    found = [os.lstat(into / name) for name in all_below(into)]
    assert len(found) == 5
    assert {(each.st_uid, each.st_gid) for each in found} == {(1234, 2345)}


def test_the_limit_of_members_holds(tmp_path):
    archive = tar(*(info(f"f{number}") for number in range(11)))
    with pytest.raises(UnpackingError, match="more than 10 members"):
        unpacked(tmp_path, archive, limits=UnpackingLimits(members=10))
    assert len(all_below(tmp_path / "in")) == 10


@pytest.mark.parametrize("form", ["tar", "zip"])
def test_the_limit_of_size_holds(tmp_path, form):
    archive = tar(info("f", size=300_000)) if form == "tar" else zipped(("f", 0, "x" * 300_000))
    with pytest.raises(UnpackingError, match="more than 195 KiB"):
        unpacked(tmp_path, archive, form, limits=UnpackingLimits(size=200_000))
    assert sum(path.stat().st_size for path in (tmp_path / "in").iterdir()) <= 200_000


def bomb_of_gzip():
    """A tar in a tar: 128 MiB of zeros, 130 KiB packed."""
    buffer = io.BytesIO()
    with gzip.open(buffer, "wb") as packed:
        packed.write(info("zeros", size=128 << 20).tobuf())
        for _ in range(128):
            packed.write(bytes(1 << 20))
        packed.write(bytes(1024))
    return buffer.getvalue()


def bomb_of_zip():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros", "w") as file:
        for _ in range(128):
            file.write(bytes(1 << 20))
    return buffer.getvalue()


def sparse_bomb():
    """A file of 1 TiB, of which the archive holds one block."""
    member = info("sparse", size=512)
    member.pax_headers = {
        "GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "sparse",
        "GNU.sparse.size": str(1 << 40), "GNU.sparse.numblocks": "1", "GNU.sparse.map": "0,512",
    }  # fmt: skip
    return tar(member, format=tarfile.PAX_FORMAT)


@pytest.mark.parametrize(
    ("form", "bomb"), [("tar.gz", bomb_of_gzip), ("zip", bomb_of_zip), ("tar", sparse_bomb)]
)
def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path, form, bomb):
    with pytest.raises(UnpackingError, match="more than 200 times its size"):
        unpacked(tmp_path, bomb(), form)
    assert sum(path.stat().st_size for path in (tmp_path / "in").iterdir()) <= 64 << 20


def test_the_wrong_type_is_named(tmp_path):
    with pytest.raises(UnpackingError) as caught:
        unpacked(tmp_path, zipped("f"), "tar.gz")
    assert caught.value.hint == "the file is a zip archive"


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: data + b"behind it"])
def test_what_is_damaged_is_not_explained_by_its_right_type(tmp_path, damage):
    data = gzip.compress(tar(info("f"), format=tarfile.PAX_FORMAT))
    with pytest.raises(UnpackingError) as caught:
        unpacked(tmp_path, damage(data), "tar.gz")
    assert caught.value.hint == "the file is cut off or damaged, or has something behind its end"


def test_progress_is_reported_and_can_end_the_work(tmp_path):
    seen = []

    def report(member, written):
        seen.append((member.name, written))
        if written > 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unpacked(tmp_path, GOOD, report=report)
    assert [name for name, _ in seen] == ["f", "g", "g", "noise", "noise"]


def test_a_disk_that_refuses_is_not_taken_for_a_bad_archive(tmp_path):
    with pytest.raises(OSError, match="File name too long"):
        unpacked(tmp_path, tar("x" * 300))


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.TAR.GZ", "tar.gz"), ("a.tgz", "tar.gz"), ("x.zip", "zip"), (".tar.zst", "tar.zst"), ("a.gz", "gz"), ("a.tar.xz", "tar.xz"), ("a.Z", None), ("tar", None)],
)  # fmt: skip
def test_the_format_is_reported_by_the_name(name, form):
    assert archive_format(name) == form


def test_whatever_bytes_are_flipped_the_end_is_an_error_or_an_archive(tmp_path):
    """Five hundred damaged archives: none ends in another exception, none reaches out."""
    chance = random.Random(6)
    forms = {"tar": tar("a/f", info("l", SYM, "a"), info("h", HARD, "a/f")), "zip": zipped("a/f", "g")}
    forms["tar.gz"], forms["tar.xz"] = PACKED["tar.gz"](forms["tar"]), PACKED["tar.xz"](forms["tar"])
    refused = 0
    for number in range(500):
        form = chance.choice(sorted(forms))
        data = bytearray(forms[form].rstrip(b"\0") + bytes(1024) if form == "tar" else forms[form])
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.choice([0, 0xFF, 0x2F, 0x2E, chance.randrange(256)])
        (tmp_path / str(number)).mkdir()
        try:
            unpacked(tmp_path / str(number), bytes(data), form)
        except (UnpackingError, OSError):
            refused += 1
        assert {path.name for path in (tmp_path / str(number)).iterdir()} == {"archive", "in"}
    assert refused > 150


STEPS = st.sampled_from(["a", "b", "..", ".", "", "c"])
PATHS = st.lists(STEPS, min_size=1, max_size=5).map("/".join)
MEMBERS = st.tuples(PATHS, st.sampled_from([tarfile.REGTYPE, DIR, SYM, HARD]), PATHS)


def unpack_what_is_taken(root, members):
    """Unpack each member in ``root/in`` together with those before it that were not refused."""
    taken = []
    for member in members:
        (root / "archive").write_bytes(tar(*taken, member))
        shutil.rmtree(root / "in", ignore_errors=True)
        (root / "in").mkdir()
        with suppress(UnpackingError):
            unpack(str(root / "archive"), str(root / "in"), "tar", limits=LIMITS)
            taken.append(member)


def leads_in_a_circle(path):
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


@given(st.lists(MEMBERS.map(lambda parts: info(*parts)), min_size=1, max_size=8))
@example([info("a", SYM, "a//a")])
def test_no_archive_of_paths_and_links_reaches_out(tmp_path_factory, members):
    """Whatever links lead through each other: all that comes out resolves inside, and nothing comes out elsewhere."""
    root = tmp_path_factory.mktemp("any")
    unpack_what_is_taken(root, members)
    into = root / "in"
    for path in all_below(into):
        if not leads_in_a_circle(into / path):  # what realpath says of a circle means nothing
            resolved = os.path.realpath(into / path)
            assert resolved == str(into) or resolved.startswith(f"{into}/")
    assert {path.name for path in root.iterdir()} == {"in", "archive"}


def test_an_archive_for_which_too_few_files_can_be_opened_leaves_none_open(tmp_path):
    """It is tried again and again: each time, there would be one less."""
    data = tar("a/b/f", "c/g")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before, failures = open_descriptors(), 0
    used = {int(number) for number, _ in before}
    free = [number for number in range(max(used) + 20) if number not in used]
    for spare in range(14):
        place = tmp_path / str(spare)
        place.mkdir()
        resource.setrlimit(resource.RLIMIT_NOFILE, (free[spare], hard))
        try:
            unpacked(place, data)
        except (OSError, UnpackingError):
            failures += 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert open_descriptors() <= before, spare
    assert 4 <= failures < 14
