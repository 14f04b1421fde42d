"""Hosts, inventories and directories that want more from a push than they should get."""

import os
import subprocess
import sys

import pytest
import trio
from nats_servers import PATIENCE

from reactor.fleet.push import session
from reactor.fleet.push.bootstrap import Bootstrap
from reactor.fleet.push.inventory_host import Host
from reactor.fleet.push.lines import LineLimits
from reactor.fleet.push.outcome import Status
from reactor.fleet.push.report import event_lines, host_line, table
from reactor.fleet.push.request import Request
from reactor.fleet.push.session import Push, push_to
from reactor.fleet.push.ssh import Ssh, bootstrap_command, hint_for, receive_command

READY = r'printf "%s\n" "{\"event\": \"ready\", \"need\": true}"'
ESCAPES = r"\033[2J\033]0;owned\007"

PROGRAMS = {
    "garbage": "exec yes 'no event at all'",
    "endless-line": "cat /dev/zero | tr '\\0' x",
    "endless-events": f'{READY}; while :; do echo \'{{"event": "checked"}}\'; done',
    "silent": "exec cat >/dev/null",
    "escapes": f'{READY}; printf \'{{"event":"warning","text":"\\\\u001b[2J\\\\u202eowned"}}\\n\'; printf \'{ESCAPES}\' >&2; exit 1',
    "odd-report": f'{READY}; printf \'%s\\n\' \'{{"event":"pushed","result":[]}}\' \'{{"event":"pushed","result":"ok","changes":"many","error":{{}}}}\'',
    "greeting": "echo Welcome to this host; echo; "
    + READY
    + '; printf \'%s\\n\' \'{"event":"pushed","result":"ok","changes":0}\'',
    "forger": f'{READY}; for kind in hostended pushended checked; do printf \'{{"event":"%s","host":"web2","result":"ok"}}\\n\' $kind; done; exec cat',
    "no-sudo": "exit 1",
    "old": "echo 'error[R0701]: there is no command receive' >&2; echo 'hint: did you mean restore?' >&2; exit 2",
    "newer": "echo 'error[R0807]: another version' >&2; echo 'hint: install the same' >&2; exit 2",
    "endless-bootstrap": "exit 127",
    "hasty": "exit 127",
    "no-memory": f"{READY}; echo MemoryError >&2; exit 1",
}


@pytest.fixture(scope="module")
def host_with(world):
    """A host whose `reactor` is the program of that name, through one sshd for all of them."""

    def start(name):
        program = world.directory / f"hostile-{name}/reactor"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{PROGRAMS[name]}\n")
        program.chmod(0o755)
        started = world.start(name, path=f"{program.parent}:/usr/bin:/bin")
        return Host(name, "127.0.0.1", started.port)

    return start


async def pushed(world, host, *, connect=30, **options):
    """Push 300 kB to one host; return its outcome and its events."""
    noted = []
    ssh = Ssh(None, str(world.config), timeout=connect)
    data = os.urandom(300_000)
    limits = LineLimits(line=100_000, all=1_000_000, noise=20)
    push = Push(Request(f"sha256-{'0' * 64}", len(data), {}), data, ssh, limits=limits, **options)
    with trio.fail_after(PATIENCE):
        outcome = await push_to(host, push, lambda _, record: noted.append(record))
    return outcome, noted


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("garbage", Status.UNREACHABLE, "more than 20 lines that are no events"),
        ("endless-line", Status.UNREACHABLE, "a line of more than 100000 bytes"),
        ("endless-events", Status.FAILED, "more than 1000000 bytes"),
        ("silent", Status.UNREACHABLE, "did not answer within 2.1 s"),
        ("escapes", Status.FAILED, "reactor receive ended during the run"),
        ("odd-report", Status.OK, None),
        ("greeting", Status.OK, None),
        ("old", Status.FAILED, "there is no command receive"),
    ],
)
async def test_a_host_that_sends_anything_costs_neither_time_nor_memory(world, host_with, name, status, said):
    times = {"connect": 2, "first_answer": 0.1} if name == "silent" else {}
    outcome, noted = await pushed(world, host_with(name), **times)
    assert outcome.status is status, outcome
    assert outcome.changes == 0
    assert said is None or said in outcome.error
    assert name != "old" or outcome.hint == "install the same version of reactor on both sides"
    printed = [host_line(outcome), *table([outcome])]
    for record in noted:
        printed += event_lines(name, record)
    assert all(line.isprintable() for line in printed), printed
    assert name != "escapes" or any("owned" in line for line in printed)


async def test_a_host_gets_reactor_once_however_often_it_asks(world, host_with, monkeypatch):
    host = host_with("endless-bootstrap")
    python = world.directory / "hostile-endless-bootstrap/python3"
    python.write_text('#!/bin/sh\nexec yes \'{"event": "bootstrap", "need": true}\'\n')
    python.chmod(0o755)
    sent, send = [], session._Session._send

    async def counted(self, stdin, pieces):
        sent.append(pieces)
        await send(self, stdin, pieces)

    monkeypatch.setattr(session._Session, "_send", counted)
    outcome, _ = await pushed(world, host, bootstrap=Bootstrap(b"x" * 300_000, "cpython"))
    assert "more than 1000000 bytes" in outcome.error
    assert len(sent) <= 3  # two openings, and reactor itself


async def test_a_host_that_is_ready_before_it_has_read_ends_nothing(world, host_with):
    host = host_with("hasty")
    python = world.directory / "hostile-hasty/python3"
    python.write_text(f"#!/bin/sh\n{READY.replace('ready', 'bootstrap')}; {READY}; sleep 0.2; exit 1\n")
    python.chmod(0o755)
    outcome, _ = await pushed(world, host, bootstrap=Bootstrap(b"x" * 3_000_000, "cpython"))
    assert outcome.status is Status.FAILED


@pytest.mark.parametrize(
    ("name", "error", "hint"),
    [
        ("newer", "reactor receive: error[R0807]: another version", "install the same"),
        ("no-memory", "reactor receive ended while the bundle was sent: MemoryError", None),
    ],
)
async def test_a_host_that_can_be_reached_has_failed_with_its_own_error(world, host_with, name, error, hint):
    outcome, _ = await pushed(world, host_with(name))
    assert outcome[1:5] == (Status.FAILED, 0, error, hint)


def test_no_host_speaks_for_another_or_for_the_push(world, host_with, reactor, tmp_path):
    (tmp_path / "manifest.yaml").write_text("resources: []\n")
    host = host_with("forger")
    words = ("-F", world.config, f"{host.address}:{host.port}", "--format", "json")
    done = reactor("push", tmp_path, *words)
    events = done.records
    assert [each["event"] for each in events] == ["checked", "hostended", "pushended"]
    assert events[0]["host"] == events[1]["host"] == host.address
    assert events[0]["from"] == "web2"


async def test_without_ssh_each_host_is_unreachable(world, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome, _ = await pushed(world, Host("web1", "127.0.0.1"))
    assert outcome.status is Status.UNREACHABLE
    assert (outcome.error, outcome.hint) == (
        "ssh can't run: No such file or directory",
        "install it: openssh-client",
    )


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        ("Host key verification failed.", "check its key, and accept it once: ssh -p 22 ann@web1"),
        (
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
            "it may be another host",
        ),
        (
            "ann@web1: Permission denied (publickey).",
            "this must work without a password: ssh -p 22 ann@web1 true",
        ),
    ],
)
def test_the_hint_is_the_command_that_helps(error, hint):
    assert hint_for(error, Host("web1", "web1", 22, "ann")).startswith(hint)


async def test_a_missing_sudo_is_no_missing_reactor(world, host_with):
    host = host_with("no-sudo")
    outcome, _ = await pushed(world, host, become=True)
    assert (outcome.status, outcome.error) == (Status.FAILED, "sudo is not installed there")


NO_SUDO = "sudo is not installed there | install it, or log in as root"


@pytest.mark.parametrize(
    ("code", "last", "said"),
    [
        (127, "sh: 1: exec: sudo: not found", NO_SUDO),
        (1, "sudo: Command not found.", NO_SUDO),
        (127, "fish: Unknown command: sudo", NO_SUDO),
        (
            1,
            "sudo: a password is required",
            "sudo: a password is required | let the user run 'sudo -n' without",
        ),
        (
            1,
            "sudo: sorry, you must have a tty to run sudo",
            "sudo: sorry, you must have a tty to run sudo | take requiretty",
        ),
        (
            1,
            "OSError: [Errno 28] No space left on device",
            "reactor receive: OSError: [Errno 28] No space left on device | make room there",
        ),
    ],
)
async def test_what_stops_a_login_is_told_with_the_way_to_fix_it(tmp_path, monkeypatch, code, last, said):
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho '{last}' >&2\nexit {code}\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    push = Push(Request(f"sha256-{'0' * 64}", 1, {}), b"x", Ssh(None))
    outcome = await push_to(Host("web1", "web1", 22, "ann"), push, lambda *_: None)
    assert outcome.status is Status.FAILED
    assert f"{outcome.error} | {outcome.hint}".startswith(said)


@pytest.mark.parametrize("sends_own", [False, True])
def test_the_commands_on_a_host_have_one_line(sends_own):
    """In csh, as a login shell, a quoted text ends with its line."""
    host = Host("web1", "web1", 22, "ann")
    for command in (
        receive_command(host, become=True, sends_own=sends_own),
        bootstrap_command(host, become=False),
    ):
        assert command.isprintable()
        assert command.count("'") == 2


def test_no_content_makes_a_line_of_its_own_in_the_diff_of_a_host():
    record = {"event": "checked", "actions": ["x"], "ref": "file#/f", "diffs": ["-a\u2028b\x85c\n+d\n"]}
    assert list(event_lines("web1", record)) == [
        "web1: file#/f: x",
        "web1:   -a\\u2028b\\x85c",
        "web1:   +d",
    ]


def test_events_of_any_shape_are_shown_safely():
    for record in (
        {
            "event": "checked",
            "actions": "all",
            "diffs": 3,
            "result": "failed",
            "error": ["\x1b[2J"],
            "ref": {},
        },
        {"event": "checked", "actions": ["a\x1b[2J\nb"], "diffs": ["x\r\x07y"], "ref": "f\x9b"},
        {"event": "diagnostic", "file": "\x1b", "line": [], "message": None},
        {"event": "warning", "text": "x" * 100_000},
    ):
        for line in event_lines("web1", record):
            assert line.isprintable()
            assert len(line) < 5_000


@pytest.mark.parametrize("name", ["-oProxyCommand=id", "a b", "$(id)", "a;b", "", "a\nb", "`id`", "%h|x"])
def test_no_name_becomes_an_option_or_a_command(name):
    with pytest.raises(ValueError, match="is not the name or address of a host"):
        Host.of("web1", (), {"ansible_host": name} if name else {"ansible_host": " "})


@pytest.mark.parametrize("user", ["-oProxyCommand=id", "a b", "$(id)", "a;b", ""])
def test_no_user_becomes_an_option(user):
    with pytest.raises(ValueError, match="is not the name of a user"):
        Host.of("web1", (), {"ansible_user": user})


def test_nothing_of_a_host_comes_before_the_end_of_the_options():
    host = Host.of("web1", (), {"ansible_user": "ann", "ansible_port": 22, "secret": "hunter2"})
    words = Ssh("/run/x").words(host, receive_command(host, become=False))
    assert words[-3:-1] == ["--", "web1"]
    assert "hunter2" not in " ".join(words)


def test_a_state_directory_of_another_user_is_refused(tmp_path, reactor, monkeypatch):
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o777)
    theirs.chmod(0o777)
    (tmp_path / "state").symlink_to(theirs)
    read, write = os.pipe()
    os.write(write, Request(f"sha256-{'0' * 64}", 10, {}).line())
    os.close(write)
    with os.fdopen(read) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        done = reactor("receive", "--state-dir", tmp_path / "state")
    assert done.code == 1
    assert '"result":"failed"' in done.out
    assert list(theirs.iterdir()) == []


@pytest.mark.parametrize(
    "line", [b"", b"{}\n", b"[1]\n", b"\xff\n", b'{"v":1}\n', b'{"v":2,"digest":null}\n', b"x" * 5_000_000]
)
def test_what_is_no_request_is_refused(line, reactor, monkeypatch, tmp_path):
    path = tmp_path / "stdin"
    path.write_bytes(line)
    with path.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        done = reactor("receive", "--state-dir", tmp_path / "state")
    assert done.code == 2
    assert "error[R0807]" in done.err
    assert not (tmp_path / "state").exists()


def test_a_run_without_push_imports_nothing_of_the_fleet(manifest):
    path = manifest("resources:\n  - file:\n      - {dir}/a: {ensure: present, content: x, {own}}\n")
    code = (
        "import os, sys; from reactor.cli import main; import reactor.cli;"
        "reactor.cli._leave = lambda code: os._exit(code or any(name.startswith('reactor.fleet') for name in sys.modules));"
        f"sys.argv[1:] = ['run', '--converge-once', {str(path)!r}]; main()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (path.parent / "a").read_text() == "x"
