"""A pause of an `apply` is one of all that it applies, on a run that goes on."""

from __future__ import annotations

import json
import os
import signal
from functools import partial

import pytest
from processes_of_cli import finish, next_event, spawned

OWN = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"


@pytest.fixture
def run(tmp_path):
    """A run of a manifest that applies one, which applies another; yields a way to wait for an event."""
    file = "resources:\n  - file:\n      - {}: {{content: right, {}}}\n"
    (tmp_path / "inner.yaml").write_text(file.format(tmp_path / "inner", OWN))
    child = file.format(tmp_path / "child", OWN) + "  - apply:\n      - inner.yaml: {}\n"
    (tmp_path / "child.yaml").write_text(child)
    top = file.format(tmp_path / "top", OWN) + "  - apply:\n      - child.yaml: {}\n"
    (tmp_path / "top.yaml").write_text(top)
    state = tmp_path / "state"
    with spawned("run", "--format", "json", "--state-dir", state, tmp_path / "top.yaml") as process:
        heard = partial(next_event, process)
        heard("converged")
        yield heard
        process.send_signal(signal.SIGTERM)
        finish(process)


def test_what_it_applies_at_any_depth_is_left_alone_and_repaired_when_it_is_resumed(run, reactor, tmp_path):
    state = ("--state-dir", tmp_path / "state")
    files = [f"file#{tmp_path}/inner", f"file#{tmp_path}/child"]
    done = reactor(
        "pause", "apply#child.yaml", "--for", "1h", "--reason", "by hand", "--format", "json", *state
    )
    assert sorted(json.loads(done.out)["paused"]) == sorted(["apply#child.yaml", "apply#inner.yaml", *files])
    for name in ("inner", "child", "top"):
        (tmp_path / name).write_text("wrong")
    run("checked", ref=f"file#{tmp_path}/top")
    assert (tmp_path / "inner").read_text() == (tmp_path / "child").read_text() == "wrong"
    assert reactor("resume", f"file#{tmp_path}/inner", *state).code == 0
    run("checked", ref=f"file#{tmp_path}/inner")
    assert (tmp_path / "child").read_text() == "wrong"
    assert reactor("resume", "apply#child.yaml", *state).code == 0
    run("checked", ref=f"file#{tmp_path}/child")
    assert (tmp_path / "child").read_text() == "right"
