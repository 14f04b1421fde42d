"""What commands write where they are asked to, in a directory of another user: never to where that user leads."""

import os
import subprocess
import sys

import pytest
from processes_of_cli import environment

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")

STRANGER = 12345
MANIFEST = "resources: [file: [{/tmp/x: {ensure: absent}}]]"


@pytest.fixture
def home(tmp_path):
    """A directory of the stranger."""
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", STRANGER, STRANGER)
    return tmp_path / "home"


def lead(link, target):
    """Let the stranger make a symlink."""
    link.symlink_to(target)
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)


def test_a_graph_does_not_replace_a_file_of_root_to_which_a_user_leads(reactor, manifest, tmp_path, home):
    (tmp_path / "secret").write_text("of root")
    lead(home / "graph.html", tmp_path / "secret")
    done = reactor("graph", manifest(MANIFEST), "-o", home / "graph.html")
    assert done.code == 1
    assert "refusing to follow it" in done.err
    assert (tmp_path / "secret").read_text() == "of root"
    assert (home / "graph.html").is_symlink()


def test_a_graph_does_not_go_into_a_directory_of_root_to_which_a_user_leads(
    reactor, manifest, tmp_path, home
):
    (tmp_path / "etc").mkdir()
    lead(home / "graphs", tmp_path / "etc")
    done = reactor("graph", manifest(MANIFEST), "-o", home / "graphs/graph.html")
    assert done.code == 1
    assert "refusing to follow it" in done.err
    assert list((tmp_path / "etc").iterdir()) == []


def test_a_graph_is_not_written_to_a_device_to_which_a_user_leads(reactor, manifest, tmp_path, home):
    pipe = tmp_path / "device"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        lead(home / "graph.html", pipe)
        assert reactor("graph", manifest(MANIFEST), "-o", home / "graph.html").code == 1
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


def test_a_graph_takes_the_place_of_a_symlink_that_leads_nowhere(reactor, manifest, tmp_path, home):
    lead(home / "graph.html", tmp_path / "new")
    assert reactor("graph", manifest(MANIFEST), "-o", home / "graph.html").code == 0
    assert not (tmp_path / "new").exists()
    assert (home / "graph.html").read_text().startswith("<!doctype html>")


def test_a_graph_goes_where_a_symlink_of_root_leads(reactor, manifest, tmp_path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "graph.html").symlink_to("real.html")
    assert reactor("graph", manifest(MANIFEST), "-o", tmp_path / "graph.html").code == 0
    assert (tmp_path / "graph.html").is_symlink()
    assert (tmp_path / "real.html").read_text().startswith("<!doctype html>")


def test_a_graph_goes_to_standard_output_by_its_path(manifest):
    command = [
        sys.executable,
        "-m",
        "reactor",
        "graph",
        "--format",
        "dot",
        "-o",
        "/dev/stdout",
        manifest(MANIFEST),
    ]
    done = subprocess.run(command, capture_output=True, check=True, env=environment())
    assert done.stdout.startswith(b"digraph")


def test_an_example_does_not_go_into_a_directory_of_root_to_which_a_user_leads(reactor, tmp_path, home):
    (tmp_path / "etc").mkdir()
    lead(home / "trial", tmp_path / "etc")
    done = reactor("example", "quickstart", home / "trial")
    assert done.code == 1
    assert "refusing to follow it" in done.err
    assert list((tmp_path / "etc").iterdir()) == []


def test_an_example_does_not_make_a_file_to_which_a_user_leads(reactor, tmp_path, home):
    lead(home / "quickstart.yaml", tmp_path / "new")
    assert reactor("example", "quickstart", home).code == 1
    assert not (tmp_path / "new").exists()
