import os

import pytest


@pytest.fixture(autouse=True)
def state_directory(tmp_path_factory, monkeypatch):
    """Each test keeps state in a directory of its own, and so do the processes it starts."""
    directory = tmp_path_factory.mktemp("state") / "reactor"
    monkeypatch.setenv("REACTOR_STATE_DIR", str(directory))
    return directory


def pytest_sessionfinish(session):
    """In CI, where everything can run, a skipped test is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
