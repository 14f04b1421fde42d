"""A push that is interrupted, or whose reader is gone: no ssh is left, and no traceback is shown."""

import os
import signal
import subprocess
import sys

import pytest
from nats_servers import PATIENCE
from processes_of_cli import wait_until

WAITS = """\
#!/bin/sh
trap '' PIPE
touch {directory}/began
echo '{{"event": "ready", "need": false}}'
echo '{{"event": "warning", "text": "at work"}}'
cat >/dev/null
touch {directory}/sent
while :; do echo '{{"event": "checked"}}' || break; sleep 0.05; done
touch {directory}/ended
"""


@pytest.fixture(scope="module")
def waiting(world):
    """A host whose reactor goes on until its connection ends."""
    program = world.directory / "waits/reactor"
    program.parent.mkdir()
    program.write_text(WAITS.format(directory=program.parent))
    program.chmod(0o755)
    return world.start("waits", path=f"{program.parent}:/usr/bin:/bin")


@pytest.fixture
def started(world, waiting, tmp_path):
    """Start a push to that host in a process of its own; ``options`` are those of Popen."""
    directory = world.directory / "waits"
    for name in ("began", "sent", "ended"):
        (directory / name).unlink(missing_ok=True)
    site = tmp_path / "site"
    site.mkdir()
    (site / "manifest.yaml").write_text("resources: []\n")
    inventory = tmp_path / "hosts"
    inventory.write_text(waiting.line)
    words = [sys.executable, "-m", "reactor", "push", "-F", world.config, site, "-i", inventory]

    def start(**options):
        options = {"stdout": subprocess.PIPE, **options}
        return subprocess.Popen(
            list(map(str, words)), stderr=subprocess.PIPE, text=True, **options
        ), directory

    return start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_push_ends_its_connections(started, number):
    process, directory = started()
    with process:
        wait_until((directory / "sent").exists)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert err == "interrupted: hosts that were at work end after the checks that are running there\n"
    wait_until((directory / "ended").exists)


def test_a_push_whose_reader_is_gone_ends_without_a_traceback(started):
    read, write = os.pipe()
    os.close(read)
    process, directory = started(stdout=write)
    os.close(write)
    with process:
        assert process.communicate(timeout=PATIENCE)[1] == ""
    assert process.returncode == 1
    wait_until((directory / "ended").exists)


def test_a_push_that_can_not_write_says_so(started):
    with open("/dev/full", "w") as full:
        process, _ = started(stdout=full)
    with process:
        assert (
            process.communicate(timeout=PATIENCE)[1] == "error[R0704]: [Errno 28] No space left on device\n"
        )
    assert process.returncode == 1


def test_a_long_runtime_directory_is_no_obstacle(started, tmp_path):
    long = tmp_path / ("x" * 100)
    long.mkdir()
    process, directory = started(env={**os.environ, "XDG_RUNTIME_DIR": str(long)})
    with process:
        wait_until((directory / "sent").exists)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert list(long.iterdir()) == []
    wait_until((directory / "ended").exists)
