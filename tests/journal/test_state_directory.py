"""Where state lives, whose it is, and who holds it."""

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from line_pipe import started

from reactor.journal import state_directory
from reactor.journal.state_directory import (
    Location,
    LockedError,
    StateDirectory,
    StateDirectoryError,
    held_manifest,
    holder,
    locate,
)

HOLD = """
import sys
import time
from reactor.journal.state_directory import StateDirectory
StateDirectory.make(sys.argv[1]).lock("/etc/first.yaml")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def first(tmp_path):
    """Another process that holds the lock of ``tmp_path / "state"``."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLD, str(tmp_path / "state")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(command, env=environment, **pipes) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_the_option_goes_before_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("REACTOR_STATE_DIR", "/from/environment")
    assert locate("/from/option") == Location("/from/option", chosen=True)
    assert locate() == Location("/from/environment", chosen=True)
    monkeypatch.chdir(tmp_path)
    assert locate("here") == Location(f"{tmp_path}/here", chosen=True)


def test_root_keeps_state_in_var_lib(monkeypatch):
    monkeypatch.delenv("REACTOR_STATE_DIR")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert locate() == Location("/var/lib/reactor", chosen=False)


@pytest.mark.parametrize(
    ("variables", "path"),
    [
        ({"XDG_STATE_HOME": "/xdg", "HOME": "/home/me"}, "/xdg/reactor"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/home/me"}, "/home/me/.local/state/reactor"),
        ({"XDG_STATE_HOME": "", "HOME": "/home/me"}, "/home/me/.local/state/reactor"),
    ],
)
def test_others_keep_it_where_xdg_says(monkeypatch, variables, path):
    monkeypatch.delenv("REACTOR_STATE_DIR")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert locate() == Location(path, chosen=False)


def test_it_is_made_for_its_owner_only(tmp_path):
    os.umask(before := os.umask(0))
    StateDirectory.make(str(tmp_path / "a" / "b" / "state"))
    assert stat.S_IMODE((tmp_path / "a" / "b" / "state").stat().st_mode) == 0o700
    os.umask(before)


def test_one_that_is_there_is_taken_as_it_is(tmp_path):
    (tmp_path / "kept").touch()
    StateDirectory.make(str(tmp_path))
    assert (tmp_path / "kept").exists()


def test_one_that_everybody_may_write_to_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(StateDirectoryError, match="every user can write") as refused:
        StateDirectory.make(str(tmp_path))
    assert "chmod 0700" in refused.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_one_of_another_user_is_refused(tmp_path):
    os.chown(tmp_path, 12345, -1)
    with pytest.raises(StateDirectoryError, match="belongs to user 12345"):
        StateDirectory.make(str(tmp_path))


def test_a_file_in_its_place_is_refused_with_a_hint(tmp_path):
    (tmp_path / "state").touch()
    with pytest.raises(StateDirectoryError, match="is not a directory") as refused:
        StateDirectory.make(str(tmp_path / "state"))
    assert "--state-dir" in refused.value.hint
    assert not refused.value.sick_disk


def test_the_second_learns_who_holds_it(first, tmp_path):
    directory = StateDirectory.make(str(tmp_path / "state"))
    with pytest.raises(LockedError) as refused:
        directory.lock("/etc/second.yaml")
    assert f"process {first.pid} (reactor run /etc/first.yaml, since 2" in str(refused.value)
    assert "--state-dir" in refused.value.hint
    assert str(first.pid) in holder(directory.path)


def test_a_killed_holder_holds_nothing(first, tmp_path):
    first.send_signal(signal.SIGKILL)
    first.wait()
    directory = StateDirectory.make(str(tmp_path / "state"))
    assert holder(directory.path) is None
    directory.lock("/etc/second.yaml")
    assert "/etc/second.yaml" in holder(directory.path)
    directory.release()
    assert holder(directory.path) is None


HEIR = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def heir(first, tmp_path):
    """A process that holds the lock of the killed run ``first``, until its input ends."""
    first.send_signal(signal.SIGKILL)
    first.wait()
    command = [sys.executable, "-c", HEIR, str(tmp_path / "state" / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.kill()


def test_what_a_killed_run_was_starting_is_waited_for(heir, tmp_path, monkeypatch):
    def goes(_seconds):
        heir.stdin.close()
        heir.wait()

    monkeypatch.setattr(time, "sleep", goes)
    directory = StateDirectory.make(str(tmp_path / "state"))
    directory.lock("/etc/second.yaml")
    assert "/etc/second.yaml" in holder(directory.path)


def test_what_a_killed_run_left_behind_is_named_as_its_child(heir, first, tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)
    with pytest.raises(LockedError, match=f"a child of process {first.pid} "):
        StateDirectory.make(str(tmp_path / "state")).lock("/etc/second.yaml")
    assert sum(waited) == pytest.approx(1)
    assert heir.poll() is None


def test_an_active_run_is_not_waited_for(first, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _seconds: pytest.fail("waited"))
    with pytest.raises(LockedError, match=f"^process {first.pid} "):
        StateDirectory.make(str(tmp_path / "state")).lock("/etc/second.yaml")


def test_a_holder_that_has_not_signed_is_another_process(first, tmp_path):
    (tmp_path / "state" / "lock").write_text("")
    assert holder(str(tmp_path / "state")) == "another process"


def test_no_one_holds_what_is_not_there(tmp_path):
    assert holder(str(tmp_path / "nothing")) is None


def test_no_one_holds_a_pipe_and_who_asks_does_not_wait_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "lock")
    assert holder(str(tmp_path)) is None


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    directory = StateDirectory.make(str(tmp_path / "state"))
    (elsewhere := tmp_path / "elsewhere").write_text("theirs")
    (tmp_path / "state" / "lock").symlink_to(elsewhere)
    with pytest.raises(StateDirectoryError, match="can't open"):
        directory.lock("/etc/site.yaml")
    assert elsewhere.read_text() == "theirs"
    with open(elsewhere) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert holder(directory.path) is None


def test_a_shorter_signature_leaves_nothing_of_a_longer_one(tmp_path):
    directory = StateDirectory.make(str(tmp_path / "state"))
    for manifest in ("/etc/a/long/way/down.yaml", "/a.yaml"):
        directory.lock(manifest)
        assert held_manifest(directory.path) == manifest
        directory.release()
    assert held_manifest(directory.path) is None


def test_a_lock_that_was_replaced_protects_nothing(tmp_path):
    directory = StateDirectory.make(str(tmp_path / "state"))
    assert directory.is_lost()
    directory.lock("/etc/site.yaml")
    assert not directory.is_lost()
    (tmp_path / "state" / "lock").rename(tmp_path / "state" / "former")
    assert directory.is_lost()
    directory.renew()
    assert not directory.is_lost()
    directory.release()


@pytest.mark.parametrize("text", ["[1]", "{}", "nonsense", '{"manifest": 1}', "1"])
def test_a_holder_whose_signature_makes_no_sense_has_no_known_manifest(tmp_path, text):
    directory = StateDirectory.make(str(tmp_path / "state"))
    directory.lock("/etc/site.yaml")
    (tmp_path / "state" / "lock").write_text(text)
    assert held_manifest(directory.path) is None
    directory.release()


def test_a_holder_that_ends_while_it_is_asked_has_no_known_manifest(tmp_path, monkeypatch):
    monkeypatch.setattr(state_directory, "holder", lambda _: "process 1")
    assert held_manifest(str(tmp_path)) is None


def test_on_a_file_system_without_locks_the_error_says_so_and_nobody_holds_it(tmp_path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    directory = StateDirectory.make(str(tmp_path / "state"))
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StateDirectoryError, match=r"can't lock .*: No locks available"):
        directory.lock("/etc/site.yaml")
    assert holder(directory.path) is None
