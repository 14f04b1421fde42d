"""What waits for a line of a process in these tests fails when none comes, and says what came before."""

import subprocess

import pytest
from line_pipe import started

PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
SAYS = r"printf 'first\nunfinished'; read end; echo; echo last"


@pytest.mark.parametrize("text", [False, True])
def test_a_line_that_does_not_come_is_a_failure_that_tells_what_was_read(text):
    with started(["sh", "-c", SAYS], **PIPES, text=text) as process:
        assert process.stdout.readline() == ("first\n" if text else b"first\n")
        process.stdout._seconds = 0.2
        with pytest.raises(
            AssertionError, match=r"no line came within 0.2 s; what came before: 'first\\nunfinished'"
        ):
            process.stdout.readline()
        process.stdin.close()
        assert process.stdout.read() == ("unfinished\nlast\n" if text else b"unfinished\nlast\n")
        assert process.stdout.readline() == ("" if text else b"")


def test_a_process_is_not_waited_for_when_the_test_has_failed():
    with pytest.raises(AssertionError), started(["sleep", "600"], **PIPES) as process:
        raise AssertionError
    assert process.returncode == -9
