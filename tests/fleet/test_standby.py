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
NOBODY = 65534
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user")


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

    def start(self, command=("-m", "reactor", "receive"), prefix=(), **options):
        """Start a session. Its stderr tells which modules it imports."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        env |= {"REACTOR_STATE_DIR": str(self.state), "PYTHONPATH": str(self.modules)} | options.pop(
            "env", {}
        )
        return subprocess.Popen(
            [*prefix, sys.executable, "-X", "importtime", *command],
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


def has_taken_signals(process):
    """Whether no signal that was sent to a process has still to come to it."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return not any(int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:")))


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
        {"preexec_fn": lambda: os.nice(1 if os.nice(0) < 19 else -1)},
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


def listening(path):
    """A process that listens at ``path`` and never answers, like a daemon with a socket of packets."""
    code = (
        "import socket, sys, time\n"
        "listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "listener.bind(sys.argv[1]); listener.listen(); print(flush=True); time.sleep(1000)"
    )
    process = subprocess.Popen([sys.executable, "-I", "-c", code, path], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


@ROOT_ONLY
def test_a_socket_in_a_directory_of_another_user_is_not_used(host):
    """It could lead to any daemon of root, which would get our environment, and be killed when it does not answer."""
    (host.state / "fleet").mkdir(parents=True)
    with listening(str(host.directory / "daemon")) as daemon:
        (host.state / "fleet/standby").symlink_to(host.directory / "daemon")
        os.chown(host.state, NOBODY, NOBODY)
        with host.start() as process:
            process.communicate(host.sent())
        alive = daemon.poll() is None
        daemon.kill()
    (host.state / "fleet/standby").unlink()
    assert alive


def test_after_a_switch_to_another_installation_a_session_does_its_work_itself(host):
    """The switch of a symlink changes no time of a file, and what was unpacked before is older than the process."""
    old, new, current = (host.directory / name for name in ("old", "new", "current"))
    for each in (old, new):
        each.mkdir()
        (each / "sitecustomize.py").touch()
    current.symlink_to(old)
    host.modules = current
    wait_until(lambda: time.time() - (new / "sitecustomize.py").stat().st_ctime > OLD)
    host.session()
    process = host.waits_for_standby()
    assert host.session() == ("ok", False)
    current.unlink()
    current.symlink_to(new)
    assert host.session() == ("ok", True)
    wait_until(lambda: is_gone(process))


FORGER = """
import ctypes, os, signal, sys
from reactor.cli import _leave_no_core
from reactor import own_process
from reactor.fleet.push import handover
_leave_no_core()
sys.path[0] = os.getcwd()
assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
signal.signal(signal.SIGINT, signal.SIG_DFL)
honest = own_process.session_identity()
found = honest.replace(b"NoNewPrivs:\\\\t1", b"NoNewPrivs:\\\\t0")
assert found != honest
handover.session_identity = lambda: found
code = handover.hand_over(sys.argv[1])
print(code, file=sys.stderr)
"""


def test_a_process_with_fewer_rights_that_claims_more_is_refused(ready):
    with ready.start(("-c", FORGER, str(ready.state))) as process:
        out, err = process.communicate(ready.sent())
    assert err.decode().splitlines()[-1] == "None", err.decode()[-500:]
    assert not out


def test_the_work_ends_when_its_session_is_killed(ready):
    began, end, more = (ready.directory / name for name in ("began", "end", "more"))
    first = f"/bin/sh -c 'echo $PPID > {began}; until [ -e {end} ]; do sleep 0.01; done'"
    ready.write({"exec": [{first: {}}, {f"/bin/touch {more}": {"require": [f"exec#{first}"]}}]})
    with ready.start() as process:
        process.stdin.write(ready.sent())
        process.stdin.flush()
        wait_until(lambda: began.exists() and began.read_text())
        process.kill()
        process.wait()
        worker = int(began.read_text())
        wait_until(lambda: has_taken_signals(worker))
        time.sleep(0.2)
        end.touch()
        wait_until(lambda: is_gone(worker))
    assert not more.exists()


def install_kind(directory, code=""):
    """Install a package with the kind `own`, which is `exec` by another name."""
    (directory / "needed.py").write_text(f"from reactor.resources.exec import Exec\n{code}\n")
    info = directory / "needed-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: needed\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[reactor.resources]\nown = needed:Exec\n")
    wait_until(lambda: time.time() - (directory / "needed.py").stat().st_ctime > OLD)


@pytest.fixture
def own_modules(host):
    """Modules of this test only."""
    host.modules = host.directory / "own"
    host.modules.mkdir()
    return host.modules


def test_a_kind_that_is_installed_meanwhile_is_found(host, own_modules):
    host.session()
    host.waits_for_standby()
    install_kind(own_modules)
    host.write({"own": [{"/bin/true": {}}]})
    assert host.session() == ("changed", False)


@pytest.mark.parametrize(
    "code",
    [
        "import threading, time; threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
        "import os; descriptor = os.open('/dev/null', os.O_RDONLY)",
    ],
)
def test_with_a_thread_or_a_file_of_a_module_none_stands_by(host, own_modules, code):
    """A fork has no such thread, and shares the file with all others."""
    install_kind(own_modules, code)
    host.write({"own": [{"/bin/true": {}}]})
    assert host.session() == ("changed", True)
    time.sleep(1)
    assert host.session() == ("changed", True)


def test_after_an_update_of_a_library_a_session_does_its_work_itself(host, own_modules):
    """An update of libssl or libc changes no module."""
    library = host.directory / "library"
    library.write_bytes(bytes(4096))
    mapping = f"mmap.mmap(os.open({str(library)!r}, os.O_RDWR | os.O_CLOEXEC), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC)"
    code = f"import mmap, os\nmapped = {mapping}\nos.closerange(3, 100)\n"
    (own_modules / "sitecustomize.py").write_text(code)
    wait_until(lambda: time.time() - (own_modules / "sitecustomize.py").stat().st_ctime > OLD)
    host.session()
    process = host.waits_for_standby()
    assert host.session() == ("ok", False)
    library.rename(host.directory / "before")
    library.write_bytes(bytes(4096))
    assert host.session() == ("ok", True)
    wait_until(lambda: is_gone(process))


@ROOT_ONLY
def test_a_session_in_another_pid_namespace_does_not_kill_itself(ready):
    """It sees the standby process as number 0, which is its own process group for `kill`."""
    os.kill(ready.process, signal.SIGSTOP)
    with ready.start(prefix=("unshare", "--fork", "--pid"), start_new_session=True) as process:
        process.stdin.write(ready.sent())
        process.stdin.flush()
        time.sleep(3)
        os.kill(ready.process, signal.SIGCONT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, b'"result":"ok"' in out) == (0, True), (out, err[-300:])


@pytest.fixture
def control_group():
    """A control group beside ours."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    top = next((Path(each[1]) for each in mounts if each[2] == "cgroup2"), None)
    own = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
    made = top and top / own / f"reactor-{os.getpid()}"
    try:
        made.mkdir()
    except (AttributeError, OSError):
        pytest.skip("control groups can't be made here")
    yield made
    wait_until(lambda: not (made / "cgroup.procs").read_text())
    made.rmdir()


def test_a_session_in_another_control_group_does_its_work_itself(host, ready, control_group):
    """The one of the standby process can have other limits, and end with a service."""

    def enter():
        (control_group / "cgroup.procs").write_text("0")

    assert ready.session(preexec_fn=enter) == ("ok", True)
    os.kill(ready.waits_for_standby(), signal.SIGKILL)
