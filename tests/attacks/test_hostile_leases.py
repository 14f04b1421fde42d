"""Leases: a user who holds one on their file keeps root from opening it, but not from putting its own there."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")

STRANGER = 12345
_HOLDER = f"""
import fcntl, os, signal, sys
os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER})
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
signal.pause()
"""


@pytest.fixture
def leased(tmp_path: Path):
    """A file of the stranger, of the length that root wants, in a directory like /tmp, and a lease on it."""
    assert hasattr(fcntl, "F_SETLEASE")
    for above in (tmp_path, *tmp_path.parents[:3]):
        above.chmod(above.stat().st_mode | 0o011)
    (shared := tmp_path / "shared").mkdir()
    shared.chmod(0o1777)
    (file := shared / "file").write_text("old")
    os.chown(file, STRANGER, STRANGER)
    with subprocess.Popen([sys.executable, "-c", _HOLDER, file], stdout=subprocess.PIPE, cwd="/") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield file
        holder.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("size", [3, 300_000])
def test_a_lease_keeps_no_file_of_root_away(reactor, manifest, leased, size):
    wanted = f'{{ensure: present, content: "{"n" * size}", owner: root, group: root, mode: "0644"}}'
    done = reactor("run", "--converge-once", manifest(f"resources: [file: [{{{leased}: {wanted}}}]]"))
    assert done.code == 0, done.out
    assert leased.read_text() == "n" * size
    assert leased.stat().st_uid == 0


def test_an_error_says_that_there_is_a_lease(reactor, manifest, leased):
    done = reactor(
        "run", "--converge-once", manifest(f"resources: [line: [{{it: {{path: {leased}, line: x}}}}]]")
    )
    assert done.code == 1
    assert "a program holds a lease on it" in done.out
