"""The standby process that a session of `reactor receive` leaves for the next one."""

import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from nats_servers import PATIENCE
from processes_of_cli import wait_until

from reactor.fleet.bundle.limits import LIMITS
from reactor.fleet.bundle.pack import pack
from reactor.fleet.push.handover import socket_address
from reactor.fleet.push.request import Request
from reactor.trust.inputs import open_input

ENGINE = "reactor.engine.engine"
OLD = 0.2
"""Seconds after which a module has certainly changed before a process began."""


class Host:
    """A state directory, and a file that the bundle manages."""

    def __init__(self, directory, modules):
        self.directory = directory
        self.state = directory / "state"
        self.file = directory / "managed"
        self.modules = modules
        self.site = directory / "site"
        self.site.mkdir()
        self.manages(content="as desired\n")

    def manages(self, **properties):
        own = {"ensure": "present", "owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644"}
        self.write({"file": [{str(self.file): own | properties}]})

    def write(self, resources):
        (self.site / "manifest.yaml").write_text(json.dumps({"resources": [resources]}))

    def start(self, **options):
        """Start a session. Its stderr tells which modules it imports."""
        path = os.pathsep.join([str(self.modules), *filter(None, sys.path)])
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        env |= {"REACTOR_STATE_DIR": str(self.state), "PYTHONPATH": path} | options.pop("env", {})
        return subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "reactor", "receive"],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )  # fmt: skip

    def sent(self):
        bundle = pack(str(self.site), LIMITS, open_input)
        return Request(bundle.digest, len(bundle.data), {}).line() + bundle.data

    def session(self, **options):
        """Run a session; return its result, and whether it did its work itself."""
        with self.start(**options) as process:
            out, err = process.communicate(self.sent(), timeout=PATIENCE)
        pushed = json.loads(out.splitlines()[-1])
        assert pushed["event"] == "pushed", out
        assert process.returncode == (pushed["result"] not in ("ok", "changed")), err
        return pushed["result"], ENGINE in err.decode()

    def standby(self):
        """The id of the standby process; None if there is none."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            try:
                with socket_address(str(self.state)) as address:
                    probe.connect(address)
            except OSError:
                return None
            return struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def waits_for_standby(self):
        wait_until(self.standby)
        return self.standby()


def is_gone(process):
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A directory with a module that each session imports."""
    directory = tmp_path_factory.mktemp("modules")
    module = directory / "sitecustomize.py"
    module.touch()
    wait_until(lambda: time.time() - module.stat().st_ctime > OLD)
    return directory


@pytest.fixture
def host(tmp_path, modules):
    made = Host(tmp_path, modules)
    yield made
    while process := made.standby():
        os.kill(process, signal.SIGKILL)
        wait_until(lambda found=process: is_gone(found))


@pytest.fixture
def ready(host):
    """A host with a standby process."""
    assert host.session() == ("changed", True)
    host.process = host.waits_for_standby()
    return host


def test_the_next_session_imports_no_engine_and_finds_what_has_drifted(ready):
    assert ready.session() == ("ok", False)
    ready.file.write_text("drifted\n")
    assert ready.session() == ("changed", False)
    assert ready.file.read_text() == "as desired\n"
    ready.manages(content="new\n")
    assert ready.session() == ("changed", False)
    assert ready.file.read_text() == "new\n"
    ready.manages(mode="many")
    assert ready.session() == ("rejected", False)
    assert ready.file.read_text() == "new\n"
    assert ready.standby() == ready.process


def test_what_belongs_to_a_session_is_its_own(ready):
    ready.manages(content="{{ Environ.SSH_CLIENT }}")
    assert ready.session(env={"SSH_CLIENT": "192.0.2.1"}) == ("changed", False)
    assert ready.file.read_text() == "192.0.2.1"


def lower_a_limit():
    resource.setrlimit(resource.RLIMIT_NPROC, (1000, 1000))


@pytest.mark.parametrize(
    "other",
    [
        {"env": {"LANG": "de_AT.UTF-8"}},
        {"cwd": "/"},
        {"umask": 0o027},
        {"preexec_fn": lower_a_limit},
        {"preexec_fn": lambda: os.nice(1)},
        {"preexec_fn": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)},
    ],
)
def test_a_session_that_is_not_like_the_first_does_its_work_itself(ready, other):
    assert ready.session(**other) == ("ok", True)
    wait_until(lambda: is_gone(ready.process))


def test_after_an_update_of_a_module_a_session_does_its_work_itself(ready):
    assert ready.session() == ("ok", False)
    os.utime(ready.modules / "sitecustomize.py")
    assert ready.session() == ("ok", True)
    wait_until(lambda: is_gone(ready.process))
    assert ready.waits_for_standby() != ready.process


def test_a_session_that_fails_leaves_no_standby_process(host):
    host.manages(mode="many")
    assert host.session() == ("rejected", True)
    assert host.standby() is None
    assert not (host.state / "fleet/standby").exists()


def test_a_standby_process_ends_with_its_socket(ready):
    (ready.state / "fleet/standby").unlink()
    wait_until(lambda: is_gone(ready.process))


def test_a_killed_standby_process_is_replaced(ready):
    os.kill(ready.process, signal.SIGKILL)
    wait_until(lambda: is_gone(ready.process))
    assert ready.session() == ("ok", True)
    assert ready.waits_for_standby() != ready.process


def test_a_standby_process_that_does_not_answer_in_time_never_begins(ready):
    log = ready.directory / "log"
    ready.write({"exec": [{f"/bin/sh -c 'echo ran >> {log}'": {}}]})
    os.kill(ready.process, signal.SIGSTOP)
    assert ready.session() == ("changed", True)
    assert is_gone(ready.process)
    assert log.read_text() == "ran\n"


def test_a_signal_to_a_session_ends_the_work_elsewhere(ready):
    began, end = ready.directory / "began", ready.directory / "end"
    first = f"/bin/sh -c 'touch {began}; until [ -e {end} ]; do sleep 0.01; done'"
    ready.write({"exec": [{first: {}}, {"/bin/false": {"require": [f"exec#{first}"]}}]})
    with ready.start() as process:
        process.stdin.write(ready.sent())
        process.stdin.flush()
        wait_until(began.exists)
        process.send_signal(signal.SIGTERM)
        end.touch()
        out, err = process.communicate(timeout=PATIENCE)
    assert ENGINE not in err.decode()
    assert json.loads(out.splitlines()[-1])["result"] == "failed", out


def test_a_session_whose_worker_is_killed_fails(ready):
    began = ready.directory / "began"
    ready.write({"exec": [{f"/bin/sh -c 'echo $PPID > {began}; sleep 1000'": {}}]})
    with ready.start() as process:
        process.stdin.write(ready.sent())
        process.stdin.flush()
        wait_until(lambda: began.exists() and began.read_text())
        os.kill(int(began.read_text()), signal.SIGKILL)
        assert process.wait(PATIENCE) == 1
        with suppress(BrokenPipeError):
            process.stdin.close()
