"""A host that has no process left to give is not the end of a run."""

import os
import signal
from functools import partial

import pytest
from processes_of_cli import finish, next_event, spawned

BIG = "0123456789abcdef" * 20_000
"""More than is written without a thread."""

FULL_HOST = """
import os, threading
start = threading.Thread.start
def start_unless_full(thread):
    if os.path.exists({marker!r}):
        raise RuntimeError("can't start new thread")
    start(thread)
threading.Thread.start = start_unless_full
from reactor.cli import main
main()
"""


@pytest.fixture
def full(tmp_path):
    """While this file is there, Python gets no thread from the kernel."""
    marker = tmp_path / "full"
    marker.touch()
    return marker


def test_a_run_outlives_the_want_of_threads_and_then_makes_up_for_it(tmp_path, full):
    path, target = tmp_path / "site.yaml", tmp_path / "big"
    own = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"
    path.write_text(f"resources:\n  - file:\n      - {target}: {{content: {BIG}, {own}}}\n")
    program = ("-c", FULL_HOST.format(marker=str(full)))
    with spawned(
        "run", "--format", "json", "--state-dir", tmp_path / "state", path, program=program
    ) as process:
        heard = partial(next_event, process)
        failure = heard("checked", result="failed")
        assert "no thread can be started" in failure["error"]
        process.send_signal(signal.SIGHUP)
        assert "no thread can be started" in heard("reloadrejected")["problems"][0]
        assert not target.exists()
        full.unlink()
        heard("converged")
        assert target.read_text() == BIG
        process.send_signal(signal.SIGHUP)  # else the run ends with a manifest that it could not load
        heard("reloaded")
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.code == 0
    assert "Traceback" not in done.err
