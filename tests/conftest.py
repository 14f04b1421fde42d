import os

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, however busy the machine is: what fails has been broken by the change at hand. To look
# for more, run with --hypothesis-profile=default.
settings.register_profile(
    "steady", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


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
