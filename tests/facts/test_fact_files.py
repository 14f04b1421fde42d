"""Facts in files: which are read, in which order, and which are kept out."""

import os

import pytest
from descriptors import open_descriptors

from reactor.documents import parse_values
from reactor.facts.files import directories, fact_paths, read_fact_files


@pytest.fixture
def place(tmp_path):
    """Write a file below a directory of the test, as nobody else could have."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644)
        return path

    return write


def read(*where):
    found = read_fact_files([str(each) for each in where], parse_values)
    return found.values, found.notes


def test_later_files_win_and_maps_and_lists_grow_together(place, tmp_path):
    place("facts.json", '{"role": "json", "tags": ["a"], "site": {"room": 1}}')
    place("facts.yaml", "role: yaml\ntags: [b]\nsite: {rack: 2}\n")
    place("facts.d/10-first.yaml", "role: first\ntags: [c]\n")
    place("facts.d/20-second.JSON", '{"role": "second"}')
    values, notes = read(tmp_path)
    assert values == {"role": "second", "tags": ["a", "b", "c"], "site": {"room": 1, "rack": 2}}
    assert notes == {}


def test_the_directories_are_read_in_their_order(place, tmp_path):
    place("system/facts.yaml", "who: system\nsystem: true")
    place("user/facts.yaml", "who: user")
    assert read(tmp_path / "system", tmp_path / "user") == ({"who": "user", "system": True}, {})


def test_facts_are_yaml_1_2(place, tmp_path):
    place("facts.yaml", "switch: on\nversion: 1.10\nmode: 0644\nempty:\n")
    assert read(tmp_path)[0] == {"switch": "on", "version": 1.1, "mode": 644, "empty": None}


def test_json_may_be_indented_with_tabs(place, tmp_path):
    place("facts.json", '{\n\t"a": [\n\t\t1\n\t]\n}\n')
    assert read(tmp_path) == ({"a": [1]}, {})


def test_what_is_no_fact_file_is_not_read(place, tmp_path):
    for name in ("facts.yml", "facts.d/a.yml", "facts.d/a.txt", "facts.d/a", "facts.d/sub.yaml/b.yaml"):
        place(name, "spoilt: true")
    assert read(tmp_path) == ({}, {})


def test_an_empty_file_and_no_file_are_no_matter(place, tmp_path):
    place("facts.yaml", "")
    place("facts.d/only-comment.yaml", "# nothing\n")
    assert read(tmp_path, tmp_path / "missing") == ({}, {})


@pytest.mark.parametrize(
    ("text", "place_of_error", "message"),
    [
        ("a: [1", "1:4", "bad YAML"),
        ("a: 1\na: 2", "2:1", "duplicate key"),
        ("- a", "1:1", "a map is expected"),
        ("just text", "1:1", "a map is expected"),
        ('{"a": ', "1:7", "bad YAML"),
        ('{"a": 1, "a": 2}', "1:10", "duplicate key"),
        ('{"a": ' * 65 + "1" + "}" * 65, "1:385", "nested deeper"),
    ],
)
def test_a_broken_file_is_noted_with_its_place_and_the_others_count(
    place, tmp_path, text, place_of_error, message
):
    path = place("facts.d/1-broken.yaml", text)
    place("facts.d/2-good.yaml", "good: true")
    values, notes = read(tmp_path)
    assert values == {"good": True}
    assert list(notes) == [f"{path}:{place_of_error}"]
    assert message in notes[f"{path}:{place_of_error}"]


def test_a_file_that_is_no_text_is_noted(place, tmp_path):
    path = place("facts.yaml", "")
    path.write_bytes(b"a: \xff\xfe")
    values, notes = read(tmp_path)
    assert values == {}
    assert list(notes) == [str(path)]


def test_a_directory_in_place_of_a_file_is_noted_and_keeps_no_descriptor(tmp_path):
    path = tmp_path / "facts.yaml"
    path.mkdir()
    assert read(tmp_path) == ({}, {str(path): f"the file is skipped: [Errno 21] Is a directory: '{path}'"})
    assert str(path) not in {target for _, target in open_descriptors()}


def test_symbolic_links_are_never_followed(place, tmp_path):
    elsewhere = place("elsewhere/real.yaml", "spoilt: true")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/facts.yaml").symlink_to(elsewhere)
    (tmp_path / "a/facts.d").symlink_to(elsewhere.parent)
    place("b/facts.d/ok.yaml", "good: true")
    (tmp_path / "b/facts.d/link.yaml").symlink_to(elsewhere)
    (tmp_path / "b/facts.d/dangling.yaml").symlink_to(tmp_path / "nowhere")
    values, notes = read(tmp_path / "a", tmp_path / "b")
    assert values == {"good": True}
    links = ("a/facts.yaml", "a/facts.d", "b/facts.d/link.yaml", "b/facts.d/dangling.yaml")
    assert set(notes) == {str(tmp_path / name) for name in links}
    assert all("symbolic link" in note for note in notes.values())


def test_a_named_pipe_is_noted_and_no_one_waits_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "facts.yaml")
    values, notes = read(tmp_path)
    assert values == {}
    assert "not a regular file" in notes[str(tmp_path / "facts.yaml")]


def test_a_relative_directory_is_noted_and_not_read(place, tmp_path, monkeypatch):
    place("facts.yaml", "spoilt: true")
    monkeypatch.chdir(tmp_path)
    values, notes = read(".")
    assert values == {}
    assert "not absolute" in notes["."]


def test_root_reads_no_file_of_another_user(place, tmp_path, monkeypatch):
    path = place("facts.yaml", "spoilt: true")
    if os.geteuid() == 0:
        os.chown(path, 1, 1)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    values, notes = read(tmp_path)
    assert values == {}
    assert "belong to root" in notes[str(path)]


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o602])
def test_root_reads_no_file_that_others_may_write(place, tmp_path, monkeypatch, mode):
    path = place("facts.yaml", "spoilt: true")
    path.chmod(mode)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    values, notes = read(tmp_path)
    assert values == {}
    assert "writable by root alone" in notes[str(path)]


def test_a_user_reads_files_of_the_system_and_of_his_own(place, tmp_path, monkeypatch):
    place("facts.yaml", "good: true").chmod(0o664)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert read(tmp_path) == ({"good": True}, {})


def test_the_directories_are_those_of_ccm_and_ours(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/x/conf")
    system, user = ("/etc/choria/ccm", "/etc/reactor"), ("/home/x/conf/choria/ccm", "/home/x/conf/reactor")
    assert directories() == (*system, *user)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/home/x")
    assert directories()[2:] == ("/home/x/.config/choria/ccm", "/home/x/.config/reactor")


def test_all_paths_that_matter_are_reported_and_also_those_that_are_not_there_yet(place, tmp_path):
    place("facts.d/a.yaml", "")
    wanted = [str(tmp_path / name) for name in ("facts.json", "facts.yaml", "facts.d", "facts.d/a.yaml")]
    where = [str(tmp_path), "relative"]
    assert fact_paths(where, read_fact_files(where, parse_values)) == wanted
