import json
import os
import shutil
import stat
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from reactor.cli.commands.graph import FORMATS
from reactor.graph.export import FORMATS as EXPORTED

CHAIN = """
resources:
  - file:
      - {dir}/d: { ensure: directory, {own} }
      - {dir}/d/a: { ensure: present, content: a, {own} }
      - {dir}/d/b: { ensure: present, content: b, require: "file#{dir}/d/a", {own} }
"""


def test_the_command_offers_every_format_there_is():
    assert tuple(FORMATS) == EXPORTED


@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        (".dot", "digraph"),
        (".gv", "digraph"),
        (".mmd", "flowchart"),
        (".svg", "<"),
        (".html", "<!"),
        (".json", "{"),
    ],
)
def test_the_suffix_reports_the_format(reactor, manifest, tmp_path, suffix, start):
    output = tmp_path / f"graph{suffix}"
    done = reactor("graph", manifest(CHAIN), "-o", output)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert output.read_text().lower().startswith(start)


def test_dot_on_stdout_is_the_default_and_the_same_every_time(reactor, manifest):
    path = manifest(CHAIN)
    first = reactor("graph", path)
    assert first.out.startswith("digraph")
    assert reactor("graph", path).out == first.out


def test_svg_is_well_formed(reactor, manifest):
    assert ET.fromstring(reactor("graph", "--format", "svg", manifest(CHAIN)).out).tag.endswith("svg")


def test_png_is_drawn_where_graphviz_is_and_refused_clearly_where_not(
    reactor, manifest, tmp_path, monkeypatch
):
    path, output = manifest(CHAIN), tmp_path / "graph.png"
    if shutil.which("dot"):
        assert reactor("graph", path, "-o", output).code == 0
        assert output.read_bytes().startswith(b"\x89PNG")
        output.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    done = reactor("graph", path, "-o", output)
    assert done.code == 1
    assert "Graphviz" in done.err
    assert not output.exists()


def test_an_unknown_suffix_asks_for_a_format(reactor, manifest, tmp_path):
    done = reactor("graph", manifest(CHAIN), "-o", tmp_path / "graph.bmp")
    assert done.code == 2
    assert "--format" in done.err


def test_depth_without_a_centre_is_bad_usage(reactor, manifest):
    assert reactor("graph", manifest(CHAIN), "--depth", "1").code == 2


def test_around_shows_the_neighbourhood_only(reactor, manifest, tmp_path):
    done = reactor(
        "graph", manifest(CHAIN), "--format", "json", "--around", f"file#{tmp_path}/d/b", "--depth", "0"
    )
    assert [node["ref"] for node in json.loads(done.out)["nodes"]] == [f"file#{tmp_path}/d/b"]


def test_around_an_unknown_resource_gives_a_hint(reactor, manifest, tmp_path):
    done = reactor("graph", manifest(CHAIN), "--around", f"file#{tmp_path}/d/c")
    assert done.code == 2
    assert "did you mean" in done.err


def test_state_is_a_fresh_look_that_changes_nothing(reactor, manifest, tmp_path):
    path = manifest(CHAIN)
    reactor("run", "--converge-once", path)
    (tmp_path / "d" / "a").write_text("drift")
    done = reactor("graph", path, "--format", "json", "--state")
    states = {node["ref"].rpartition("/")[2]: node["state"] for node in json.loads(done.out)["nodes"]}
    assert states == {"d": "ok", "a": "would_change", "b": "ok"}
    assert (tmp_path / "d" / "a").read_text() == "drift"


def exported(reactor, path, *options):
    done = reactor("graph", path, "--format", "json", *options)
    assert done.code == 0, done.err
    return [node["ref"].rpartition("/")[2] for node in json.loads(done.out)["nodes"]]


def test_a_part_is_exported_by_kind_and_name_and_by_state(reactor, manifest, tmp_path):
    path = manifest(CHAIN)
    assert exported(reactor, path, "--only", "file#*/b", "--only", "file#*/d") == ["d", "b"]
    assert exported(
        reactor, path, "--only", "file#*", "--around", f"file#{tmp_path}/d/b", "--depth", "0"
    ) == ["b"]
    assert "no resource matches" in reactor("graph", path, "--only", "service#*").err
    assert "no journal" in reactor("graph", path, "--in-state", "failed").err
    reactor("run", "--converge-once", path)
    (tmp_path / "d" / "a").unlink()
    (tmp_path / "d" / "a").mkdir()
    assert reactor("run", "--converge-once", path).code == 1
    assert exported(reactor, path, "--in-state", "failed", "--in-state", "blocked") == ["a", "b"]
    assert exported(reactor, path, "--in-state", "ok") == ["d"]
    assert exported(reactor, path, "--state", "--in-state", "would_change") == []
    assert (
        "no resource has the state would_change"
        in reactor("graph", path, "--state", "--in-state", "would_change").err
    )


def test_the_file_is_replaced_whole_and_has_the_mode_of_a_new_one(reactor, manifest, tmp_path):
    output = tmp_path / "out" / "graph.dot"
    output.parent.mkdir()
    output.write_text("old")
    old = output.stat().st_ino
    umask = os.umask(0o027)
    try:
        assert reactor("graph", manifest(CHAIN), "-o", output).code == 0
    finally:
        os.umask(umask)
    assert output.stat().st_ino != old
    assert stat.S_IMODE(output.stat().st_mode) == 0o640
    assert list(output.parent.iterdir()) == [output]


def test_a_file_that_can_not_be_written_is_reported_by_its_name(reactor, manifest, tmp_path):
    done = reactor("graph", manifest(CHAIN), "-o", tmp_path / "nowhere" / "graph.dot")
    assert done.code == 1
    assert f"can't write {tmp_path}/nowhere/graph.dot: No such file or directory" in done.err


def test_a_device_is_written_to_and_not_replaced(reactor, manifest):
    assert reactor("graph", manifest(CHAIN), "--format", "dot", "-o", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()
