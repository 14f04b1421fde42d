import os
import pty
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from processes_of_cli import environment, finish, spawned, wait_until, with_constant

FLAPPING_FOR = "resources:\n  - file:\n      - {dir}/a: { ensure: present, content: x, {own} }\n"
SLOW = """
resources:
  - file:
      - {dir}/a: { ensure: present, content: x, {own} }
  - exec:
      - slow: { command: "sleep 0.7", require: "file#{dir}/a" }
"""
WAITING = SLOW.replace(
    '"sleep 0.7"', '"until test -e {dir}/go; do sleep 0.02; done; touch {dir}/done", provider: shell'
)
FAILING = 'resources:\n  - exec:\n      - fail: { command: "false" }\n'


def on_terminal(*args, program=("-m", "reactor"), seen=lambda _: None, **variables):
    """Run a command with stdout and stderr on one terminal; return its exit code and all it showed.

    ``seen`` is called with all that was shown so far.
    """
    outside, inside = pty.openpty()
    ends = {"stdin": inside, "stdout": inside, "stderr": inside, "env": environment(**variables)}
    with spawned(*args, program=program, **ends) as process:
        os.close(inside)
        shown = b""
        while True:
            try:
                data = os.read(outside, 65536)
            except OSError:  # how Linux tells that the other side has closed
                break
            shown += data
            seen(shown)
        code = process.wait()
    os.close(outside)
    return code, shown.decode()


def test_the_progress_bar_appears_on_a_terminal_when_it_takes_a_moment(manifest, tmp_path):
    def go_on(shown):
        if b"1/2" in shown:
            (tmp_path / "go").touch()

    code, shown = on_terminal("run", "--converge-once", manifest(WAITING), seen=go_on, TERM="xterm")
    assert code == 0
    assert "converging" in shown
    assert "1/2" in shown
    assert max(shown.index("file#"), shown.index("converging")) < shown.rindex("changed")
    assert "\x1b[?25h" in shown[shown.rindex("\x1b[?25l") :], "the cursor is hidden and never shown again"


def test_a_quick_run_shows_no_bar_but_colours_and_a_table(manifest):
    whatever_is_quick = with_constant("reactor.console.progress", "DRAW_AFTER", 60.0)
    code, shown = on_terminal(
        "run", "--converge-once", manifest(FLAPPING_FOR), program=whatever_is_quick, TERM="xterm"
    )
    assert code == 0
    assert "converging" not in shown
    assert "\x1b[33mchanged\x1b[0m" in shown
    assert "╭" in shown


def test_a_terminal_that_goes_away_ends_nothing_in_the_middle(manifest, tmp_path):
    outside, inside = pty.openpty()
    path = manifest(WAITING)
    ends = {"stdin": inside, "stdout": inside, "stderr": inside, "env": environment(TERM="xterm")}
    with spawned("run", "--converge-once", path, **ends) as process:
        os.close(inside)
        shown = b""
        while b"converging" not in shown:
            shown += os.read(outside, 65536)
        os.close(outside)
        (tmp_path / "go").touch()
        assert process.wait(timeout=60) == 0
    assert (tmp_path / "done").exists()


def test_no_colour_is_honoured_on_a_terminal(manifest):
    _, shown = on_terminal("run", "--converge-once", manifest(FAILING), TERM="xterm", NO_COLOR="1")
    assert "failed" in shown
    assert "\x1b[" not in shown


def test_a_dumb_terminal_gets_plain_text(manifest):
    _, shown = on_terminal("run", "--converge-once", manifest(SLOW), TERM="dumb")
    assert "\x1b[" not in shown
    assert "converging" not in shown


def test_json_on_a_terminal_is_json_only(manifest):
    _, shown = on_terminal("run", "--converge-once", "--format", "json", manifest(SLOW), TERM="xterm")
    assert "\x1b" not in shown
    assert [line for line in shown.splitlines() if line.startswith("{")] == shown.splitlines() != []


def test_a_pipe_gets_neither_bar_nor_colours(manifest):
    with spawned("run", "--converge-once", manifest(SLOW)) as process:
        done = finish(process)
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out


def test_colours_can_be_forced_into_a_pipe(manifest):
    with spawned(
        "run", "--converge-once", manifest(FLAPPING_FOR), env=environment(CLICOLOR_FORCE="1")
    ) as process:
        assert "\x1b[33mchanged\x1b[0m" in finish(process).out


def test_lines_arrive_while_the_run_goes_on(manifest):
    with spawned("run", manifest(FLAPPING_FOR)) as process:
        assert b"changed" in process.stdout.readline()
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == 0


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_reader_that_goes_away_ends_the_run_quietly(manifest, tmp_path, form):
    with spawned("run", "--format", form, manifest(FLAPPING_FOR)) as process:
        wait_until(lambda: b"converged" in process.stdout.readline())
        process.stdout.close()
        (tmp_path / "a").write_text("drift")
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""
    assert (tmp_path / "a").read_text() == "x"


def test_a_paused_reader_does_not_hold_up_repairs(manifest, tmp_path):
    text = "resources:\n  - exec:\n      - talk: { command: seq 100000, logoutput: true }\n"
    path = manifest(
        text + FLAPPING_FOR.partition("\n")[2].replace("{ ensure", '{ require: "exec#talk", ensure')
    )
    with spawned("run", "--converge-once", path) as process:
        wait_until((tmp_path / "a").exists)
        assert process.poll() is None
        done = finish(process)
    assert done.code == 0
    assert "exec#talk | 100000\n" in done.out


def test_a_full_disk_is_reported_and_the_work_is_done(manifest, tmp_path):
    with (
        Path("/dev/full").open("w") as full,
        spawned("run", "--converge-once", manifest(FLAPPING_FOR), stdout=full) as process,
    ):
        _, err = process.communicate(timeout=60)
        assert err == b"reactor: output is lost: No space left on device\n"
    assert (tmp_path / "a").read_text() == "x"


def test_help_into_a_closed_pipe_shows_no_traceback():
    command = "python=$1; $python -m reactor --help | true"
    done = subprocess.run(
        ["sh", "-c", command, "sh", os.sys.executable], capture_output=True, env=environment(), check=False
    )
    assert b"Traceback" not in done.stderr


def test_a_full_stderr_that_no_one_reads_holds_no_repair_up(manifest, tmp_path):
    """What waits for the reader is written at the end."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    with spawned("run", manifest(FLAPPING_FOR), "--metrics", "127.0.0.1:0", stderr=writing) as process:
        os.close(writing)
        assert b"changed" in process.stdout.readline()
        (tmp_path / "a").write_text("drift")
        assert any(b"changed" in line for line in process.stdout)
        process.terminate()
        with open(reading, "rb") as reader:
            assert b"reactor: the metrics are at http://127.0.0.1:" in reader.read()
        assert process.wait() == 0


LASTING = WAITING.replace("touch {dir}/done", "sleep 0.5") + (
    '      - last: { command: "touch {dir}/last", require: "exec#slow" }\n'
)


def test_a_stopped_terminal_holds_no_check_up_while_the_bar_is_drawn(manifest, tmp_path):
    """^S stops it until ^Q."""
    outside, inside = pty.openpty()
    ends = {"stdin": inside, "stdout": inside, "stderr": inside, "env": environment(TERM="xterm")}
    with spawned("run", "--converge-once", manifest(LASTING), **ends) as process:
        shown = b""
        while b"1/3" not in shown:
            shown += os.read(outside, 65536)
        os.close(inside)
        os.write(outside, b"\x13")
        (tmp_path / "go").touch()
        wait_until((tmp_path / "last").exists)
        os.write(outside, b"\x11")
        with suppress(OSError):
            while data := os.read(outside, 65536):
                shown += data
        assert process.wait() == 0
    os.close(outside)
    assert b"changed" in shown
