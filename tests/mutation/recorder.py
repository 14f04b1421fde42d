"""A plugin of pytest: which lines each test executes, in all of its processes, and how long it takes.

coverage.py measures. The process of the tests changes its context with each of them, and a process that a test starts finds
the name of the test in the environment, from which coverage.py takes its context (`recording`).
"""

import json
import os

import coverage
import pytest

TEST = "MUTATION_TEST"
_TIMES = os.open(os.environ["MUTATION_TIMES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
"""Open for good: a test may be another user when it ends."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Charge to the test what is executed meanwhile."""
    del nextitem
    measured = coverage.Coverage.current()
    os.environ[TEST] = item.nodeid
    if measured is not None:
        measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        del os.environ[TEST]
        if measured is not None:
            measured.switch_context("")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Note the outcome and the seconds of each phase, in one write that no other process can get into."""
    report = yield
    os.write(_TIMES, f"{json.dumps([item.nodeid, report.outcome, call.duration])}\n".encode())
    return report
