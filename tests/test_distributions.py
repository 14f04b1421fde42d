"""We find the same entry points and versions as importlib.metadata, whatever is on the search path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from importlib import metadata
from importlib.machinery import PathFinder

import pytest

from reactor import distributions

GROUP = "reactor.test"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An import path of two directories; `put` writes the metadata of a distribution into one of them."""
    metadata.version("pytest")  # imports the modules that importlib.metadata can't find on that path
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second")])

    def put(where, name, text=None, metadata_text=""):
        directory = tmp_path / where / name
        directory.mkdir(parents=True)
        (directory / "METADATA").write_text(metadata_text)
        if text is not None:
            (directory / "entry_points.txt").write_bytes(text if isinstance(text, bytes) else text.encode())

    return put


def both(group=GROUP):
    """What we find and what importlib.metadata does: entry points, or the type of the error."""
    found = []
    for source in (distributions, metadata):
        try:
            found.append([(each.name, each.value, each.group) for each in source.entry_points(group=group)])
        except Exception as error:  # noqa: BLE001 - it is compared
            found.append(type(error))
    return found


def entry(name="a", value="os:sep"):
    return f"[{GROUP}]\n{name} = {value}\n"


def test_in_this_environment_all_groups_are_the_same_and_none_is_left_to_importlib(monkeypatch):
    groups = {each.group for each in metadata.distribution("pytest").entry_points}
    groups |= {each.group for other in metadata.distributions() for each in other.entry_points}
    assert {"reactor.resources", "reactor.watchers", "console_scripts", "pytest11"} <= groups
    monkeypatch.setattr(sys, "meta_path", [PathFinder])  # pytest's own finder may be any
    expected = {group: both(group)[1] for group in groups}
    monkeypatch.setattr(metadata, "entry_points", None)
    for group in groups:
        ours = [(each.name, each.value, each.group) for each in distributions.entry_points(group=group)]
        assert ours == expected[group], group


def test_of_two_with_one_name_the_first_on_the_path_counts(place):
    place("second", "Two.Part-1.0.dist-info", entry("second"))
    place("first", "two__part-2.0.dist-info", entry("first"))
    place("second", "other-1.0.egg-info", entry("other"))
    place("second", "another-1.0.dist-info")
    ours, theirs = both()
    assert ours == theirs
    assert [name for name, *_ in ours] == ["first", "other"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a = os:sep\n",
        f"# words\n\n[ {GROUP} ]\n[{GROUP}]\r\n  a=os:sep  \n#b = os:sep\nc = os : path . sep [extra]\n[other]\nd = os\n",
        f"[{GROUP}]\na = b = c\n[]\nd = os\n[{GROUP}]\nlast = os:path.sep\n",
        f"[{GROUP}]\na =\n = os\n",
        f"[{GROUP}]\nno equals sign\n",
        b"\xff\xfe[\x00r\x00",
        f"\ufeff[{GROUP}]\na = os\n",
        f"[{GROUP}]\n\u00fcber = os:sep\nb\u2028c = os\n",
        os.urandom(400),
    ],
)
def test_every_text_means_what_it_means_to_importlib(place, text):
    place("first", "known-1.0.dist-info", entry())
    place("second", "foreign-1.0.dist-info", text)
    ours, theirs = both()
    assert ours == theirs


def test_a_directory_in_the_place_of_the_file_and_one_that_may_not_be_read_are_the_same(place, tmp_path):
    place("first", "known-1.0.dist-info", entry())
    (tmp_path / "second/odd-1.0.dist-info/entry_points.txt").mkdir(parents=True)
    (tmp_path / "second/file-1.0.egg-info").write_text("Name: file\nVersion: 1.0\n")
    (tmp_path / "second/gone-1.0.dist-info").symlink_to("nowhere")
    ours, theirs = both()
    assert ours == theirs
    assert len(ours) == 1


def test_places_that_are_missing_or_empty_have_none(place, tmp_path, monkeypatch):
    place("first", "known-1.0.dist-info", entry())
    monkeypatch.chdir(tmp_path / "first")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), ""])
    ours, theirs = both()
    assert ours == theirs
    assert len(ours) == 1


@pytest.mark.parametrize("name", ["odd-1.0.DIST-INFO", "-1.0.dist-info", "plain.dist-info"])
def test_names_that_are_not_plain_are_the_same(place, name):
    place("first", name, entry(), "Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    ours, theirs = both()
    assert ours == theirs
    assert len(ours) == 1


def test_a_zip_file_and_an_egg_are_left_to_importlib(place, tmp_path, monkeypatch):
    place("first", "known-1.0.dist-info", entry())
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr(
            "packed-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: packed\nVersion: 1.0\n"
        )
        packed.writestr("packed-1.0.dist-info/entry_points.txt", entry("packed"))
    place("laid-1.0-py3.egg", "EGG-INFO", entry("laid"))
    (tmp_path / "laid-1.0-py3.egg/EGG-INFO/PKG-INFO").write_text("Name: laid\nVersion: 1.0\n")
    for other in ("packed.zip", "laid-1.0-py3.egg"):
        monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / other)])
        ours, theirs = both()
        assert ours == theirs
        assert len(ours) == 2


def test_another_finder_of_distributions_is_asked(place, monkeypatch):
    place("first", "known-1.0.dist-info", entry())
    place("hidden", "lib-1.0.dist-info", entry("found"))

    class Finder:
        def find_spec(self, *_):
            return None

        def find_distributions(self, context):
            hidden = metadata.DistributionFinder.Context(path=[sys.path[0].replace("first", "hidden")])
            return PathFinder.find_distributions(hidden)

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    ours, theirs = both()
    assert ours == theirs
    assert len(ours) == 2


@pytest.mark.parametrize(
    "value",
    [
        "os",
        "os:sep",
        "os:path.sep",
        "os : path.sep [extra, more]",
        "nowhere:x",
        "os:nothing",
        "os:",
        "os:a:b",
        "",
        "a b",
        ":",
        "os.",
    ],
)
def test_an_entry_point_loads_what_importlib_loads(value):
    results = []
    for kind in (distributions.EntryPoint, metadata.EntryPoint):
        try:
            results.append(kind("a", value, GROUP).load())
        except Exception as error:  # noqa: BLE001 - it is compared
            results.append(type(error))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "text",
    [
        "Metadata-Version: 2.1\nName: lib\nVersion: 1.5\n\nVersion: 9\n",
        "Name: lib\nversion: 1.5\n\nVersion: 9\n",
        "Name: lib\r\nVersion:  1.5\r\n\r\nVersion: 9\r\n",
    ],
)
def test_the_version_is_the_same_however_it_is_written(place, text):
    place("first", "my_lib-1.5.dist-info", metadata_text=text)
    place("second", "my_lib-1.6.dist-info", metadata_text=text.replace("1.5", "1.6"))
    assert distributions.installed_version_of("My.Lib") == metadata.version("My.Lib") == "1.5"


def test_the_version_of_what_is_not_installed_is_an_error(place):
    with pytest.raises(metadata.PackageNotFoundError):
        distributions.installed_version_of("lib")


def test_a_run_imports_no_importlib_metadata(tmp_path):
    (tmp_path / "m.yaml").write_text(f"resources:\n  - file:\n      - {tmp_path}/x: {{ensure: absent}}\n")
    command = [sys.executable, "-X", "importtime", "-m", "reactor", "run", "--converge-once"]
    done = subprocess.run([*command, str(tmp_path / "m.yaml")], check=True, capture_output=True, text=True)
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"pydantic.plugin._loader", "reactor.resources.file.kind"} <= names
    assert not names & {"importlib.metadata", "email.message", "zipfile", "csv"}


def test_an_editable_installation_is_found_through_its_directory():
    code = "import json, sys; from reactor import distributions as d; print(json.dumps([d.installed_version_of('reactor-converge'), [e.name for e in d.entry_points(group='reactor.watchers')], 'importlib.metadata' in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    watchers = [each.name for each in metadata.entry_points(group="reactor.watchers")]
    assert json.loads(done.stdout) == [metadata.version("reactor-converge"), watchers, False]
