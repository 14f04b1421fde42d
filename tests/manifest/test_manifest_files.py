import errno
import gc
import os
from contextlib import suppress
from pathlib import Path

import pytest
from small_kinds import KINDS

from reactor.loading import load
from reactor.manifest import directories, read_manifests, source
from reactor.manifest.source import MAX_BYTES, LineMap
from reactor.resource.diagnostic import ManifestError


def reading(path):
    manifest, diagnostics = read_manifests([str(path)], KINDS)
    assert manifest.resources == []
    [found] = diagnostics
    assert found.place.file == os.fsdecode(path)
    return found


def test_a_missing_file_names_one_like_it(tmp_path):
    (tmp_path / "site.yaml").touch()
    found = reading(tmp_path / "site.yml")
    assert found.message == "can't read the manifest: No such file or directory"
    assert found.hint == "did you mean 'site.yaml'?"


def test_a_dash_is_no_name_for_the_standard_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert reading("-").hint == "the standard input is /dev/stdin"
    (tmp_path / "dangling.yaml").symlink_to("gone.yaml")
    assert reading(tmp_path / "dangling.yaml").hint == "it is a link to gone.yaml, which is not there"


def test_a_missing_directory_is_named(tmp_path):
    assert reading(tmp_path / "nowhere" / "site.yaml").hint == f"there is no directory {tmp_path / 'nowhere'}"


def test_a_directory_is_no_manifest(tmp_path):
    found = reading(tmp_path)
    assert found.message == "can't read the manifest: Is a directory"
    assert found.hint == "name the file in it"
    (tmp_path / "manifest.yaml").touch()
    assert reading(tmp_path).hint == f"name a file, such as {tmp_path / 'manifest.yaml'}"


@pytest.fixture
def nobody():
    """Not root: root may read everything."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)
    yield
    if was_root:
        os.seteuid(0)


def test_an_unreadable_file_is_said_to_be_so(tmp_path, nobody):
    path = tmp_path / "site.yaml"
    with suppress(PermissionError):  # as root, the directory of the test is closed to nobody
        path.touch(mode=0)
    found = reading(path)
    assert found.message == "can't read the manifest: Permission denied"
    assert found.hint == "check the permissions of the file and of the directories above it"


def test_at_the_limit_of_open_files_the_hint_names_the_limit(tmp_path, monkeypatch):
    (tmp_path / "site.yaml").touch()
    (tmp_path / "many").mkdir()

    def refuse(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(source, "open_input", refuse)
        assert "ulimit -n" in reading(tmp_path / "site.yaml").hint
        patched.setattr(directories, "require_input_directory", refuse)
        with pytest.raises(ManifestError) as caught:
            directories.manifests_in(str(tmp_path / "many"))
    assert "ulimit -n" in caught.value.diagnostics[0].hint


@pytest.mark.parametrize("name", ["\0", "x" * 5000])
def test_an_impossible_name_is_an_error_like_others(name):
    assert reading(name).message.startswith("can't read the manifest: ")


def test_a_manifest_of_a_megabyte_is_read(read):
    assert read("resources: []\n" + "# a line\n" * 120_000).messages == []


def test_a_file_without_end_is_given_up():
    found = reading("/dev/zero")
    assert found.message == f"the manifest is larger than {MAX_BYTES // 2**20} MiB"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only a comment\n", b"---\n", b"~\n", b"\xef\xbb\xbf"])
def test_an_empty_manifest_is_an_error(read, content):
    reading = read(content)
    assert reading.messages == ["the manifest is empty"]
    assert reading.diagnostics[0].place.line <= 1


@pytest.mark.parametrize(
    ("content", "place", "message", "hint"),
    [
        (b"a: 1\nb: \xff\n", (2, 4), "byte 0xff at offset 8", "save the file as UTF-8"),
        ("é: é\n".encode() + b"\xe9", (2, 1), "byte 0xe9 at offset 7", "save the file as UTF-8"),
        (
            "a: ü".encode("utf-16"),
            (1, 1),
            "byte 0xff at offset 0",
            "the file looks like UTF-16: save it as UTF-8",
        ),
        (
            b"\x7fELF\0\0\x90",
            (1, 7),
            "byte 0x90 at offset 6",
            "this looks like a binary file",
        ),
        (b"a\0b", (1, 2), "U+0000 is not allowed in YAML", "this looks like a binary file"),
    ],
)
def test_binary_junk_is_placed(read, content, place, message, hint):
    reading = read(content)
    assert reading.positions == [place]
    assert message in reading.messages[0]
    assert reading.diagnostics[0].hint == hint


def test_a_byte_order_mark_is_no_part_of_the_text(read):
    assert read(b"\xef\xbb\xbfresources: []\n").diagnostics == []
    assert read(b"\xef\xbb\xbfresurces: []\n").positions == [(1, 1)]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_a_secret_is_one_whatever_ends_the_lines(read, end):
    reading = read(
        "data:\n  # @secret\n  a: 1234\nresources:\n- page: [{'/{{ Data.a }}': }]\n".replace("\n", end)
    )
    assert "the name of a resource is shown everywhere, and must not hold a secret" in reading.messages
    assert reading.positions[0] == (5, 11)


@pytest.mark.parametrize("root", ["hello", "12", "'quoted'"])
def test_a_manifest_that_is_a_scalar_is_an_error(read, root):
    assert read(root).messages[0].startswith("a manifest is a map with the key 'resources', not ")


def test_a_manifest_that_is_a_list_is_reported_where_it_belongs(read):
    assert read("- page: []\n").diagnostics[0].hint == "put the list under 'resources:'"


def test_the_garbage_collector_is_left_as_it_was_found(read):
    assert gc.isenabled()
    read("resources: []")
    read("resources: [")
    assert gc.isenabled()
    gc.disable()
    try:
        read("resources: []")
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("text", "at", "place"),
    [("", 0, (1, 1)), ("ab", 1, (1, 2)), ("a\nb", 2, (2, 1)), ("a\n\nb\n", 2, (2, 1)), ("a\n", 2, (2, 1))],
)
def test_offsets_become_lines_and_columns_from_1(text, at, place):
    assert LineMap.of("f", text).place(at) == ("f", *place)


def test_files_beside_a_manifest_stay_its_own_when_the_link_to_its_directory_is_switched(tmp_path):
    """As at a release: until the new manifest is loaded, the old one must not apply the files of the new one."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "motd").write_text(name)
        (tmp_path / name / "manifest.yaml").write_text(
            'resources:\n  - file:\n      - /etc/motd: {ensure: present, owner: root, group: root, mode: "0644", source: motd}\n'
        )
    (tmp_path / "current").symlink_to("old")
    (tmp_path / "root.yaml").write_text("resources:\n  - apply:\n      - current/manifest.yaml: {}\n")
    for switched, path in (("new", "current/manifest.yaml"), ("old", "root.yaml")):
        before = os.readlink(tmp_path / "current")
        found = load(str(tmp_path / path)).graph.resources["file#/etc/motd"]
        (tmp_path / "current").unlink()
        (tmp_path / "current").symlink_to(switched)
        (file,) = found.source_files()
        assert Path(file).read_text() == before
