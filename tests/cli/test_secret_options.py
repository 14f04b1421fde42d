"""What is secret need not stand on a command line, which every user of the host can read."""

import base64
import resource
import subprocess
import sys

import pytest

HASH = "$6$saltsalt$" + "a.B/" * 21 + "xy"
NAME = "reactor-test-nobody"


def ensure(*options, text=None):
    return subprocess.run(
        [sys.executable, "-m", "reactor", "ensure", "user", NAME, "present", "--noop", *map(str, options)],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_password_on_the_command_line_gets_a_warning_that_does_not_quote_it():
    done = ensure("--password", HASH)
    assert done.returncode == 0
    assert "every user of this host can read the value of --password" in done.stderr
    assert "--password-file" in done.stderr
    assert HASH not in done.stdout + done.stderr


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_password_may_come_from_a_file_or_from_stdin(tmp_path, end):
    path = tmp_path / "hash"
    path.write_text(HASH + end)
    for done in (ensure("--password-file", path), ensure("--password-file", "-", text=HASH + end)):
        assert (done.returncode, done.stderr) == (0, "")
        assert "Would have created the user" in done.stdout


def test_a_password_from_a_file_is_judged_as_any_other_and_not_quoted(tmp_path):
    path = tmp_path / "hash"
    path.write_text("hunter2-in-clear")
    done = ensure("--password-file", path)
    assert done.returncode == 2
    assert "not the hash of a password" in done.stderr
    for form in ("hunter2-in-clear", base64.b64encode(b"hunter2-in-clear").decode()):
        assert form not in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--password-file", "/nonexistent/x"), "/nonexistent/x: No such file or directory"),
        (
            ("--password-file", "/dev/null", "--password", HASH),
            "--password and --password-file can't be used together",
        ),
    ],
)
def test_what_can_not_be_read_or_is_given_twice_is_bad_usage(options, message):
    done = ensure(*options)
    assert done.returncode == 2
    assert message in done.stderr
    assert HASH not in done.stderr


def test_header_fields_come_from_the_lines_of_a_file(tmp_path):
    path = tmp_path / "headers"
    path.write_text("X-Token=t0ken-t0ken-t0ken\nAccept=text/html\n")
    arguments = ["/tmp/reactor-test-x.tar.gz", "present", "--url", "http://127.0.0.1:9/x.tar.gz", "--noop"]
    done = subprocess.run(
        [sys.executable, "-m", "reactor", "ensure", "archive", *arguments, "--headers-file", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "t0ken-t0ken" not in done.stdout


def test_a_crash_of_any_command_writes_no_core(tmp_path):
    """The limit is that of the process that runs the command; its children may raise it again."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    code = 'ulimit -S -c unlimited; exec "$@"'
    program = (
        "import sys, os; sys.argv = ['reactor', '--version']\n"
        "import reactor.cli\n"
        "reactor.cli._leave = lambda code: print(open('/proc/self/limits').read())\n"
        "reactor.cli.main()\n"
    )
    done = subprocess.run(
        ["sh", "-c", code, "sh", sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    (line,) = (each for each in done.stdout.splitlines() if each.startswith("Max core file size"))
    assert line.split()[4] == "0", done.stdout
    assert hard == resource.getrlimit(resource.RLIMIT_CORE)[1]
