"""A continuous run hears writes that no close follows, wherever it reads: files, sources, trees, manifests, their data."""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager

import pytest
from processes_of_cli import finish, spawned, wait_until

OWN = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644"}


@contextmanager
def converged(tmp_path):
    """A run on everything that is watched by path; the audit is half an hour away."""
    for name in ("source", "templates/t", "templates/d/u"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("right: 1\n")
    manifest = tmp_path / "site.yaml"
    file = {"ensure": "present", **OWN}
    scaffold = {"ensure": "present", "source": str(tmp_path / "templates")}
    resources = [
        {"file": {"name": str(tmp_path / "kept"), "content": "right\n", **file}},
        {"file": {"name": str(tmp_path / "copied"), "source": str(tmp_path / "source"), **file}},
        {"file": {"name": str(tmp_path / "looked-up"), "content": "{{ Data.right }}\n", **file}},
        {"scaffold": {"name": str(tmp_path / "made"), **scaffold}},
    ]
    manifest.write_text(json.dumps({"resources": resources}))
    (tmp_path / "data.yaml").write_text("data: {right: 1}\n")
    with spawned("run", "--format", "json", "--hiera", tmp_path / "data.yaml", manifest) as process:
        lines = iter(process.stdout)
        assert next((line for line in lines if json.loads(line)["event"] == "converged"), None), (
            process.stderr.read().decode()
        )
        yield
        process.send_signal(signal.SIGTERM)
        finish(process)


def cut(path):
    os.truncate(path, 3)


def held(descriptors):
    def write(path):
        descriptors.append(os.open(path, os.O_WRONLY))
        os.write(descriptors[-1], b"wrong: 2\n")

    return write


@pytest.fixture(params=["truncated", "held open"])
def spoil(request):
    """Change what a file holds without closing it after the change."""
    descriptors = []
    yield cut if request.param == "truncated" else held(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)


def test_managed_files_and_trees_are_repaired(tmp_path, spoil):
    with converged(tmp_path):
        for name, right in {"kept": "right\n", "copied": "right: 1\n", "made/d/u": "right: 1\n"}.items():
            spoil(tmp_path / name)
            wait_until(lambda path=tmp_path / name, right=right: path.read_text() == right)


def test_sources_and_templates_are_followed(tmp_path, spoil):
    with converged(tmp_path):
        for source, target in {"source": "copied", "templates/d/u": "made/d/u"}.items():
            spoil(tmp_path / source)
            spoilt = (tmp_path / source).read_text()
            wait_until(lambda path=tmp_path / target, text=spoilt: path.read_text() == text)


@pytest.mark.parametrize("name", ["data.yaml", "site.yaml"])
def test_a_manifest_and_its_data_are_followed(tmp_path, name):
    with converged(tmp_path):
        before = (tmp_path / name).read_bytes()
        descriptor = os.open(tmp_path / name, os.O_WRONLY)
        replaced = before.replace(b"right: 1", b"right: 3").replace(b"{{ Data.right }}", b"{{ 3 }}         ")
        os.write(descriptor, replaced)
        wait_until(lambda: (tmp_path / "looked-up").read_text().strip() == "3")
        os.close(descriptor)


def test_what_is_written_through_another_hard_link_is_repaired(tmp_path):
    (tmp_path / "kept").write_text("right\n")
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "other"
    other.hardlink_to(tmp_path / "kept")
    with converged(tmp_path):
        other.write_text("wrong\n")
        wait_until(lambda: (tmp_path / "kept").read_text() == "right\n")
        assert other.read_text() == "wrong\n"
