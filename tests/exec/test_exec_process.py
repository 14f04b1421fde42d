"""Running one command: what it sees, what is kept of it, and that nothing of it stays behind."""

import errno
import os
import re
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from reactor.resource.plan import ResourceError
from reactor.resources.process import ENVIRONMENT, Command, process_tree, program, run
from reactor.resources.process.output import TAIL_BYTES
from reactor.resources.process.process_tree import ProcessTree

ALIVE = 60.0
"""Nothing here takes so long unless it hangs."""


def sh(script, *, cwd="/", **options):
    return Command(("/bin/sh", "-c", script), cwd, ENVIRONMENT, **options)


def posix(*arguments, cwd="/", **environment):
    return Command(arguments, str(cwd), ENVIRONMENT | environment)


def living(group):
    """The processes of a group that are more than a zombie."""
    stats = [stat_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [fields for fields in stats if fields and int(fields[2]) == group and fields[0] != "Z"]


def stat_of(pid):
    """State, parent, group ... of a process; nothing when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


class Lines(list):
    """The lines of a command as they come; ``first`` is set by the first one."""

    def __init__(self):
        super().__init__()
        self.first = trio.Event()

    def __call__(self, line):
        self.append(line)
        self.first.set()


@pytest.fixture(autouse=True)
async def _watchdog():
    with trio.fail_after(ALIVE):
        yield


async def test_exit_code_and_both_outputs_are_reported():
    done = await run(sh("echo out; echo err >&2; exit 7"))
    assert (done.exit_code, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert 0 < done.duration < ALIVE


async def test_the_environment_is_exactly_what_was_given():
    done = await run(posix("env", FOO="b a r"))
    assert done.stdout.splitlines() == [
        "PATH=/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin",
        "LANG=C",
        "LC_ALL=C",
        "FOO=b a r",
    ]


async def test_it_runs_in_its_directory(tmp_path):
    assert (await run(posix("pwd", cwd=tmp_path))).stdout == f"{tmp_path}\n"


async def test_it_has_no_input_no_terminal_and_a_session_of_its_own():
    assert (await run(posix("cat"))).stdout == ""
    pid, group, session = (await run(posix("cut", "-d ", "-f1,5,6", "/proc/self/stat"))).stdout.split()
    assert pid == group == session
    assert (await run(sh(": < /dev/tty"))).exit_code != 0


async def test_it_inherits_no_descriptor(tmp_path):
    with (tmp_path / "open").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        listed = (await run(posix("ls", "/proc/self/fd"))).stdout.split()
    assert listed == ["0", "1", "2", "3"]  # 3 is the directory being listed


async def test_a_bare_name_is_looked_up_in_the_path_of_the_command(tmp_path):
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").write_text(f"#!/bin/sh\necho {folder} $0 $PATH\n")
    (tmp_path / "b" / "tool").chmod(0o755)
    (tmp_path / "c" / "tool").chmod(0o755)
    search = ":".join(str(tmp_path / folder) for folder in ("none", "a", "b", "c"))
    done = await run(posix("tool", PATH=search))
    assert done.stdout == f"b {tmp_path}/b/tool {search}\n"  # the one in a is not executable


async def test_a_relative_program_is_relative_to_the_working_directory(tmp_path):
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\necho here\n")
    script.chmod(0o755)
    assert (await run(posix("./tool", cwd=tmp_path))).stdout == "here\n"


async def test_a_missing_program_is_named_with_the_path_searched():
    with pytest.raises(ResourceError) as caught:
        await run(posix("no-such-tool", PATH="/opt/a:/opt/b"))
    assert caught.value.message == "there is no executable 'no-such-tool' in /opt/a:/opt/b"
    assert "`path`" in caught.value.hint
    assert "`provider: shell`" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (None, 0, "the executable {tool} does not exist"),
        ("#!/bin/sh\n", 0o644, "{tool} is not executable"),
        (
            "#!/no/such/interpreter\n",
            0o755,
            "the interpreter named in the first line of {tool} does not exist",
        ),
        (
            "#!/etc/passwd\n",
            0o755,
            "the interpreter named in the first line of {tool} is not executable",
        ),
        (
            "echo no first line\n",
            0o755,
            "{tool} is neither a program nor a script that names its interpreter",
        ),
    ],
)
async def test_what_can_not_be_started_is_explained(tmp_path, content, mode, message):
    tool = tmp_path / "tool"
    if content is not None:
        tool.write_text(content)
        tool.chmod(mode)
    with pytest.raises(ResourceError) as caught:
        await run(posix(str(tool)))
    assert caught.value.message == message.format(tool=tool)
    assert caught.value.hint


MOUNTED_NOEXEC = """
import subprocess, sys, trio
from pathlib import Path
from reactor.resource.plan import ResourceError
from reactor.resources.process import ENVIRONMENT, Command, run
tool = Path(sys.argv[1], "tool")
subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", tool.parent], check=True)
tool.write_text("#!/bin/sh\\n")
tool.chmod(0o755)
try:
    trio.run(run, Command((str(tool),), "/", ENVIRONMENT))
except ResourceError as error:
    print(error.message)
"""


async def test_what_is_mounted_noexec_is_not_to_be_made_executable(tmp_path):
    unshare = ("unshare", "--user", "--map-root-user", "--mount")
    ran = await trio.run_process(
        [*unshare, sys.executable, "-c", MOUNTED_NOEXEC, str(tmp_path)],
        capture_stdout=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.stdout.decode() == f"{tmp_path}/tool is on a file system that is mounted noexec\n"


async def test_a_directory_is_not_to_be_made_executable(tmp_path):
    with pytest.raises(ResourceError) as caught:
        await run(posix(str(tmp_path)))
    assert (caught.value.message, caught.value.hint) == (f"{tmp_path} is a directory", "name a program in it")


async def test_a_missing_working_directory_is_not_mistaken_for_a_missing_program(tmp_path):
    with pytest.raises(ResourceError, match=r"^the working directory /no/such/place does not exist$"):
        await run(posix("/bin/true", cwd="/no/such/place"))


async def test_a_working_directory_that_is_a_file_is_reported_as_such(tmp_path):
    (tmp_path / "f").touch()
    with pytest.raises(ResourceError, match=f"^the working directory {tmp_path}/f is not a directory$"):
        await run(posix("/bin/true", cwd=tmp_path / "f"))


AS_NOBODY = """
import os, sys, trio
from reactor.resources.exec import Exec
from reactor.resource.plan import ResourceError
Exec(name="x", command="/bin/true")  # all is imported before it can't be any more
os.setgroups([]); os.setgid(65534); os.setuid(65534)
async def error(**properties):
    try:
        execution = Exec(name="x", **properties)
        for action in execution.plan(await execution.observe(), refresh=False):
            await action.run()
    except ResourceError as e:
        print(e.message, e.hint, sep="; ")
trio.run(lambda: error(command="/bin/true", cwd=sys.argv[1]))
trio.run(lambda: error(command=sys.argv[1] + "/tool"))
trio.run(lambda: error(command="/bin/true", creates=sys.argv[1] + "/made"))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes somebody else")
async def test_permission_denied_names_the_path_that_was_denied(open_tmp_path):
    closed = open_tmp_path / "closed"
    closed.mkdir(mode=0o700)
    ran = await trio.run_process([sys.executable, "-c", AS_NOBODY, str(closed)], capture_stdout=True)
    may_enter = "run as root, or as a user who may enter every directory of the path"
    assert ran.stdout.decode().splitlines() == [
        f"the working directory {closed} can't be entered: Permission denied; {may_enter}",
        f"the executable {closed}/tool can't be reached; {may_enter}",
        f"cannot inspect {closed}/made: Permission denied; {may_enter.replace('enter', 'use')}",
    ]


async def test_arguments_too_long_for_the_kernel_are_an_error_of_the_resource():
    words = r"^/bin/true can't be started: Argument list too long$"
    with pytest.raises(ResourceError, match=words) as raised:
        await run(posix("/bin/true", "x" * 300_000))
    assert raised.value.hint.endswith("put long values into a file")


async def test_what_does_not_start_for_want_of_descriptors_says_how_to_have_more():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(
            ResourceError, match=r"^/bin/true can't be started: Too many open files$"
        ) as raised:
            await run(posix("/bin/true"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "--jobs" in raised.value.hint
    assert "ulimit -n" in raised.value.hint


async def test_a_host_without_dev_null_is_told_to_make_it(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "devnull", str(tmp_path / "null"))
    words = f"{tmp_path}/null, from which /bin/true would read, can't be opened: No such file or directory"
    with pytest.raises(ResourceError, match=f"^{re.escape(words)}$") as raised:
        await run(posix("/bin/true"))
    assert raised.value.hint == f"make it: mknod -m 666 {tmp_path}/null c 1 3"


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGKILL, "SIGKILL"), (signal.SIGSEGV, "SIGSEGV"), (40, "signal 40")]
)
async def test_death_by_a_signal_is_an_error(number, name):
    with pytest.raises(ResourceError, match=f"^killed by {name}\n  so far$"):
        await run(sh(f"ulimit -c 0; echo so far; kill -{int(number)} $$"))


async def test_of_big_output_only_the_end_is_kept():
    script = (
        "import sys; sys.stdout.write('x' * 20_000_000 + 'END'); sys.stderr.write('y' * 20_000_000 + 'FIN')"
    )
    done = await run(posix(sys.executable, "-c", script))
    assert (len(done.stdout), done.stdout[-4:]) == (TAIL_BYTES, "xEND")
    assert (len(done.stderr), done.stderr[-4:]) == (TAIL_BYTES, "yFIN")


async def test_output_that_is_not_utf8_survives():
    lines = Lines()
    done = await run(sh(r"printf 'a\377b\nü\n'"), lines)
    assert done.stdout == "a\\xffb\nü\n"
    assert lines == ["a\\xffb", "ü"]


async def test_lines_arrive_in_order_while_the_command_runs():
    lines = Lines()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            run, sh("i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); done; sleep 60"), lines
        )
        await lines.first.wait()  # the command is still running
        while len(lines) < 1000:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert lines == [str(number) for number in range(1000)]


async def test_a_line_without_an_end_is_passed_on_in_bounded_pieces():
    lines = Lines()
    await run(sh("head -c 1000000 /dev/zero | tr '\\0' x; printf 'y\\nlast'"), lines)
    assert "".join(lines) == "x" * 1_000_000 + "ylast"
    assert lines[-1] == "last"
    assert max(map(len, lines)) <= 2 * TAIL_BYTES


async def run_out_of_time(script, clock, **options):
    """Run a script until it says it is ready; then its time is over. Returns its error, its number and its lines."""
    clock.rate = 1.0
    lines = Lines()

    async def set_forward():
        while "ready" not in lines:
            await trio.lowlevel.checkpoint()
        clock.jump(ALIVE / 2)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(set_forward)
        with pytest.raises(ResourceError) as caught:
            await run(sh(script, timeout=ALIVE / 2, **options), lines)
    (pid,) = filter(str.isdecimal, lines)
    return caught.value.message, int(pid), lines


async def test_a_timeout_kills_the_grandchildren_too(mock_clock):
    script = "echo $$; sh -c 'sleep 60 & echo ready; sleep 60' & wait"
    error, pid, _ = await run_out_of_time(script, mock_clock)
    assert "timed out after 30s; its process group was killed" in error
    assert living(pid) == []


@pytest.mark.parametrize("before", ["", "trap : TERM; "])
async def test_a_timeout_kills_what_has_left_the_group_too(monkeypatch, mock_clock, before):
    monkeypatch.setattr(process_tree, "TERM_GRACE", 0.5)
    script = f"setsid sh -c '{before}sleep 60 & echo $$; echo ready; while :; do wait; sleep 60; done' & wait"
    error, pid, _ = await run_out_of_time(script, mock_clock)
    assert "timed out" in error
    assert living(pid) == [], "it is the leader of the group it has left for"


async def test_a_daemon_that_no_one_waits_for_outlives_a_timeout(mock_clock, tmp_path):
    daemon = f"(setsid sh -c 'echo $$; touch {tmp_path}/runs; exec sleep 60' &)"  # when that ends, it has no parent here
    script = f"{daemon}; until test -e {tmp_path}/runs; do sleep 0.02; done; echo ready; sleep 60"
    _, pid, _ = await run_out_of_time(script, mock_clock)
    assert len(living(pid)) == 1
    os.kill(pid, signal.SIGKILL)


async def test_what_ignores_sigterm_is_killed(monkeypatch, mock_clock):
    monkeypatch.setattr(process_tree, "TERM_GRACE", 0.2)
    script = "trap '' TERM; sleep 60 & echo $$; echo ready; while :; do sleep 60; done"
    error, pid, _ = await run_out_of_time(script, mock_clock)
    assert "timed out" in error
    assert living(pid) == []


async def test_a_grandchild_that_outlives_its_leader_still_has_its_grace(monkeypatch, mock_clock):
    monkeypatch.setattr(process_tree, "TERM_GRACE", ALIVE / 4)
    child = 'trap "sleep 0.3; echo cleaned; exit" TERM; echo ready; while :; do sleep 0.05; done'
    error, pid, lines = await run_out_of_time(f"echo $$; sh -c '{child}' & wait", mock_clock)
    assert "timed out" in error
    assert lines[-1] == "cleaned"
    assert living(pid) == []


async def test_a_program_whose_name_looks_like_a_stat_line_is_a_member_all_the_same(tmp_path):
    tool = tmp_path / "x) Z 1 2 (y"
    tool.symlink_to("/bin/sh")
    os.mkfifo(tmp_path / "never")
    lines = Lines()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, posix(str(tool), "-c", "echo $$; read x < never", cwd=tmp_path), lines)
        await lines.first.wait()
        assert [each.pid for each in ProcessTree(int(lines[0])).alive()] == [int(lines[0])]
        nursery.cancel_scope.cancel()


async def test_cancelling_ends_the_whole_group():
    lines = Lines()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, sh("sleep 60 & echo $$; wait"), lines)
        await lines.first.wait()
        assert len(living(int(lines[0]))) == 2
        nursery.cancel_scope.cancel()
    assert living(int(lines[0])) == []


async def test_cancelling_one_that_ignores_sigterm_is_bounded(monkeypatch):
    monkeypatch.setattr(process_tree, "TERM_GRACE", 0.2)
    lines = Lines()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, sh("trap '' TERM; echo $$; while :; do sleep 60; done"), lines)
        await lines.first.wait()
        nursery.cancel_scope.cancel()
    assert living(int(lines[0])) == []


async def test_a_daemon_that_keeps_the_pipes_open_does_not_hold_us():
    done = await run(sh("sleep 60 & echo $!"))
    daemon = int(done.stdout)
    os.kill(daemon, signal.SIGKILL)  # raises if it had been taken down with its parent
    assert done.exit_code == 0
    assert done.duration < ALIVE / 2


async def test_a_daemon_that_writes_for_ever_does_not_hold_us():
    done = await run(sh("yes & echo $! >&2"))
    with suppress(ProcessLookupError):  # it ends by itself once it sees that nobody reads any more
        os.kill(int(done.stderr.split()[0]), signal.SIGKILL)
    assert done.exit_code == 0


async def test_being_cancelled_while_a_daemon_holds_the_pipes_leaves_no_zombie():
    lines = Lines()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, sh("sleep 60 & echo $!; echo $$"), lines)
        await lines.first.wait()
        while len(lines) < 2 or stat_of(lines[1]):  # until it is reaped
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    os.kill(int(lines[0]), signal.SIGKILL)


async def test_fifty_commands_run_at_once_without_mixing():
    outputs = {}

    async def one(number):
        outputs[number] = await run(sh(f"echo {number}; sleep 0.2; exit {number}"))

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(one, number)
    assert {number: (done.exit_code, done.stdout) for number, done in outputs.items()} == {
        number: (number, f"{number}\n") for number in range(50)
    }
    assert sum(done.duration for done in outputs.values()) > 50 * 0.2


async def test_an_error_shows_only_the_last_lines():
    with pytest.raises(ResourceError) as caught:
        await run(sh("seq 1000 >&2; echo unseen; kill -9 $$"))
    assert re.fullmatch(r"killed by SIGKILL\n  998\n  999\n  1000", caught.value.message)


class HungError(Exception):
    pass


async def test_a_pipe_in_place_of_a_script_keeps_nothing_waiting(tmp_path, monkeypatch):
    """Its owner puts it there after our look at the file, before we read its first line."""
    os.mkfifo(tmp_path / "script")

    def hung(*_):
        raise HungError

    monkeypatch.setattr(program, "_is_program", lambda _path: True)
    before = signal.signal(signal.SIGALRM, hung)
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        program.refuse_unstartable(str(tmp_path / "script"), None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=[errno.ENOSYS, errno.EPERM])
def without_pidfds(request, monkeypatch):
    """An old kernel, or the sandbox of an old container engine."""

    def refuse(pid, flags=0):
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(os, "pidfd_open", refuse)


@pytest.mark.usefixtures("without_pidfds")
async def test_without_pidfds_a_command_runs_to_its_end():
    done = await run(sh("sleep 0.1; echo done; exit 3"))
    assert (done.exit_code, done.stdout) == (3, "done\n")


@pytest.mark.usefixtures("without_pidfds")
async def test_without_pidfds_a_timeout_kills_what_has_left_the_group_too(mock_clock):
    error, pid, _ = await run_out_of_time(
        "setsid sh -c 'echo $$; echo ready; exec sleep 60' & wait", mock_clock
    )
    assert "timed out" in error
    assert living(pid) == []
