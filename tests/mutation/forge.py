"""Runs tests in forks of a process that has the libraries loaded already, one request after the other.

A request is a line of JSON on stdin, ``{"tests": [...], "seconds": 60}``; the answer, on stdout, is ``{"ending": ...,
"failed": ...}``: how it ended (`passed`, `failed`, or `hung` when the seconds were over), and the test that failed first.
Whatever the tests have started is killed with them; they are killed, too, when stdin ends, as it does with who has asked.
Run it in the directory of the clone, with its Python.
"""

import ctypes
import json
import os
import select
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

# hypothesis takes longer to import than most tests to run.
_LIBRARIES = (
    "click", "h11", "hypothesis", "jinja2", "networkx", "pydantic", "pyroute2", "pytest_trio.plugin", "rich", "trio", "yaml",
)  # fmt: skip
_LOADED_ALREADY = "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning"
"""What pytest says about plugins that were imported before it began: their own assertions are shown without values."""
_SET_CHILD_SUBREAPER = 36
_SET_PARENT_DEATH_SIGNAL = 1
_prctl = ctypes.CDLL(None).prctl


class FirstFailure:
    """A plugin: runs the tests in the order of the request, and writes the name of the test that fails to a pipe."""

    def __init__(self, tests, pipe):
        self._ranks = {test: rank for rank, test in enumerate(tests)}
        self._pipe = pipe

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Undo that the project begins with its longest tests."""
        items.sort(key=lambda item: self._ranks.get(item.nodeid, 0))

    def pytest_runtest_logreport(self, report):
        """Tell the first one; after it, pytest stops."""
        if report.failed:
            os.write(self._pipe, report.nodeid.encode())


def main():
    """Answer all requests."""
    for name in _LIBRARIES:
        import_module(name)
    _prctl(_SET_CHILD_SUBREAPER, 1)  # orphans become our children
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(answer(request["tests"], request["seconds"])), flush=True)


def answer(tests, seconds):
    """Run the tests until one fails, for so many seconds at most."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        run(tests, writer)
    os.close(writer)
    ending = wait(child, time.monotonic() + seconds)
    kill_children()
    os.set_blocking(reader, False)  # who got away from us may hold the other end
    with os.fdopen(reader, "rb") as pipe:
        return {"ending": ending, "failed": (pipe.read() or b"").decode()}


def run(tests, pipe):
    """Become a pytest that runs them, and end."""
    # A mutant may run endlessly, and no ^C reaches it in its own session.
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    options = [
        "-x",
        "-q",
        "-n0",
        f"-W{_LOADED_ALREADY}",
        "-p",
        "no:cacheprovider",
        f"--basetemp={Path.cwd().parent}/tests-{os.getppid()}",
    ]
    code = 1
    try:
        code = int(pytest.main([*options, *tests], plugins=[FirstFailure(tests, pipe)]))
    finally:
        os._exit(code)


def wait(child, deadline):
    """How it ended; it is gone then."""
    descriptor = os.pidfd_open(child)
    try:
        ready = select.select([descriptor, sys.stdin], [], [], max(deadline - time.monotonic(), 0))[0]
    finally:
        os.close(descriptor)
    if not (ended := descriptor in ready):
        os.killpg(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return "hung" if not ended else "failed" if status else "passed"


def kill_children():
    """End what the tests have left, and what that leaves."""
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for child in map(int, children):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
