"""Running the command as a process of its own."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from line_pipe import with_deadline

GUARD = 60.0
_TIMES = re.compile(r"\d+(\.\d+)? (ns|µs|ms|s|min)\b")


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def records(self):
        """What it said with ``--format json``."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(**variables):
    """The environment of a child: this one's, without what would colour or quieten it.

    It has not our import path: a child would look for each of its modules in all directories of tests first.
    """
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS")
    }
    return {**kept, **variables}


def with_constant(module, name, value):
    """The words for Python that start ``reactor`` with another constant: for tests that a slow machine would fail."""
    changed = (
        f"import {module} as module; module.{name}; module.{name} = {value!r}"  # it is an error if it is gone
    )
    return "-c", f"{changed}; from reactor.cli import main; main()"


@contextmanager
def spawned(*args, program=("-m", "reactor"), **options):
    """``reactor`` as a process of its own. It never outlives the test."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment(), **options}
    with subprocess.Popen([sys.executable, *program, *map(str, args)], **given) as process:
        try:
            yield with_deadline(process)
        finally:
            if process.poll() is None:
                process.kill()


def wait_until(condition):
    """Wait for the condition itself, with a guard."""
    deadline = time.monotonic() + GUARD
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
    return found


def finish(process):
    """Wait for the end of a process; return what it wrote."""
    out, err = process.communicate(timeout=GUARD)
    return Done(process.returncode, out.decode(), err.decode())


def up_to(process, kind):
    """The events that a run with ``--format json`` tells, up to the next of that kind."""
    events = [json.loads(process.stdout.readline())]
    while events[-1]["event"] != kind:
        events.append(json.loads(process.stdout.readline()))
    return events


def next_event(process, kind, **fields):
    """The next event of that kind, with these fields, of a run with ``--format json``."""
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == kind and fields.items() <= event.items():
            return event
    raise AssertionError(f"ended without {kind}")


def refused(*args):
    """What a run says that can't begin; it would need its state directory if it did."""
    with spawned("run", *args, env=environment(REACTOR_STATE_DIR="/nonexistent")) as process:
        return finish(process)


def pids_running(marker):
    """The processes whose command line holds ``marker``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def untimed(line):
    """A line of output without its times."""
    if not line.startswith("{"):
        return _TIMES.sub("TIME", line)
    return {key: value for key, value in json.loads(line).items() if key not in ("time", "duration")}
