"""Plays the commands of one page of the documentation, and compares what they say with what the page shows.

    play_page.py PAGE SCRATCH

A program of its own, because a page may be played inside of another world than the test's. SCRATCH is an empty
directory; on a machine that is the page's alone, ``/tmp`` is, and then commands are run as they stand.
CONTRIBUTING.md tells how a page is written.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from page_blocks import Page

ROOT = Path(__file__).parents[2]
PROMPT = "$ "
ELSEWHERE = "# in another terminal: "
TIMEOUT = 120.0
THROWN_AWAY = Path("/run/with-systemd/ready")
"""There on a copy of this machine that is thrown away, and nowhere else."""
ENDS = ("--converge-once", "--converged-timeout", "--noop", "--render", "--help")


class WrongError(Exception):
    """The page and the world differ."""


def stays(command):
    """Whether a command does not end by itself."""
    words = command.split()
    return "--follow" in words or (
        words[:2] == ["reactor", "run"] and not any(word in ENDS for word in words)
    )


_VARYING = (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME"),
    (r"(\d[\d.]* (ms|s|min|h)\b ?)+", "DURATION "),
    (r"\b(pid|process) \d+", r"\1 PID"),
    (r"\?token=\S+", "?token=TOKEN"),
    (r"^[0-9a-f]{8} ", "ID "),
    (r"^([+-](?:owner|group)): .*|\b[\w-]+:[\w-]+(?= +[0-7]{4} )", r"\1 WHO"),
    (r" +", " "),
)


def normal(line):
    """A line without what differs from run to run: times, processes, who plays it, and columns that follow from that."""
    for pattern, word in _VARYING:
        line = re.sub(pattern, word, line)
    return line.rstrip()


class Process:
    """One command line in bash, as in a terminal of its own. What it says goes to a file, errors and all."""

    def __init__(self, command, scratch, variables):
        self.command = command
        self._output = scratch / f"output-{time.monotonic_ns()}"
        self._heard = 0
        self._output.touch(mode=0o600)  # as a terminal: what is for the user alone is told
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                ["bash", "-euc", command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=scratch,
                env=variables,
                start_new_session=True,
            )

    def hear(self, count):
        """The next ``count`` lines, waited for."""
        self.wait_for(lambda said: len(said) >= self._heard + count)
        lines = self._said()[self._heard : self._heard + count]
        self._heard += count
        return lines

    def wait_for(self, condition):
        deadline = time.monotonic() + TIMEOUT
        while True:
            is_over = self._process.poll() is not None or time.monotonic() > deadline
            if condition(self._said()):
                return
            if is_over:
                raise WrongError(
                    f"waited in vain for {self.command}, which said:\n{self._output.read_text()}"
                )
            time.sleep(0.005)

    def interrupt(self):
        os.killpg(self._process.pid, signal.SIGINT)

    def end(self):
        """All that has not been heard, once it has ended well."""
        try:
            code = self._process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise WrongError(f"{self.command} does not end") from None
        if code:
            raise WrongError(f"exit code {code} of {self.command}, which said:\n{self._output.read_text()}")
        return self._said()[self._heard :]

    def kill(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _said(self):
        """The whole lines so far."""
        return self._output.read_text().split("\n")[:-1]


class Player:
    """Plays block after block. ``shown`` stands in the page where ``real`` is meant."""

    def __init__(self, scratch, variables, shown, real):
        self._scratch = scratch
        self._variables = variables
        self._shown, self._real = shown, real
        self._staying = None
        self._said = None
        self._section = None

    def play(self, block):
        match block.kind:
            case "sh" | "before":
                self._run(block)
            case "console":
                self._converse(block)
            case "text":
                self._look(block)
            case "yaml":
                self._write(block)

    def close(self):
        """End what stays."""
        if self._staying is not None:
            self._staying.interrupt()
            self._staying.end()
            self._staying = None

    def kill(self):
        if self._staying is not None:
            self._staying.kill()

    def _run(self, block):
        lines = block.text.splitlines()
        last = lines.pop() if stays(lines[-1]) else ""
        process = self._start("\n".join(lines))
        try:
            self._said = process.end()
        finally:
            process.kill()
        self._section = block.section
        if last:
            self._stay(last)

    def _stay(self, command):
        self.close()
        self._staying = self._start(command)
        awaited = "" if "--follow" in command else "converged"
        self._staying.wait_for(lambda said: any(awaited in line for line in said))

    def _write(self, block):
        if block.path is not None:
            path = self._scratch / self._to_real(block.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._to_real(block.text))

    def _look(self, block):
        """A ``text`` block is what the last command of its section said, or, if that is nothing, what stays says."""
        if block.section != self._section:
            return
        shown = block.text.splitlines()
        said = self._said or self._staying.hear(len(shown))
        self._compare(said, shown)
        self._said = None

    def _converse(self, block):
        process, shown = None, []
        try:
            for line in block.text.splitlines():
                if line.startswith(PROMPT):
                    self._finish(process, shown)
                    process, shown = self._start(line.removeprefix(PROMPT)), []
                elif line.startswith(ELSEWHERE):
                    self._compare(process.hear(len(shown)), shown)
                    self._start(line.removeprefix(ELSEWHERE)).end()
                    shown = []
                elif line == "^C":
                    self._compare(process.hear(len(shown)), shown)
                    process.interrupt()
                    shown = []
                else:
                    shown.append(line)
            self._finish(process, shown)
        finally:
            if process is not None:
                process.kill()

    def _finish(self, process, shown):
        if process is not None:
            self._compare(process.end(), shown)

    def _start(self, command):
        return Process(self._to_real(command), self._scratch, self._variables)

    def _to_real(self, text):
        return text.replace(self._shown, self._real)

    def _compare(self, said, shown):
        """Line by line; resources that do not depend on each other may change places. ``...`` stands for any lines."""
        said = [line.replace(self._real, self._shown) for line in said]
        ours, theirs = Counter(map(normal, said)), Counter(map(normal, shown))
        if "..." in theirs:
            del theirs["..."]
            ours &= theirs
        if ours != theirs:
            raise WrongError(
                "the page shows:\n{}\nand it says:\n{}".format("\n".join(shown), "\n".join(said))
            )


def stage(scratch, page):
    """A player of ``page``. Unless the machine is its own, what the page has below /tmp is below ``scratch``."""
    program = scratch / ".bin" / "reactor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m reactor "$@"\n')
    program.chmod(0o755)
    (scratch / "examples").symlink_to(ROOT / "examples")
    variables = {**os.environ, "REACTOR_SOURCE": str(ROOT), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    if page.world == "machine":
        if not THROWN_AWAY.exists():
            sys.exit("this page is played on a machine of its own: tests/systemd/with-systemd")
        shutil.rmtree("/var/lib/reactor", ignore_errors=True)  # of the machine that this one is a copy of
        variables |= {"HOME": "/root", "REACTOR_STATE_DIR": "/var/lib/reactor"}
        return Player(scratch, variables, "/tmp/", "/tmp/")
    variables |= {"HOME": str(scratch), "REACTOR_STATE_DIR": str(scratch / ".state")}
    return Player(scratch, variables, "/tmp/", f"{scratch}/")


def main(path, scratch):
    page = Page.of(Path(path).read_text())
    player, line = stage(Path(scratch), page), 0
    try:
        for block in page.blocks:
            line = block.line
            player.play(block)
        player.close()
    except WrongError as wrong:
        sys.exit(f"{path}:{line}: {wrong}")
    finally:
        player.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
