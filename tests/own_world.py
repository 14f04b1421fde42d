"""Runs the tests of a directory in a world of their own, such as new namespaces or a systemd that was just booted.

A second pytest runs them in there, and its reports are shown here as if they had been made here. The world ends with
it, so whatever a test leaves behind is gone.

To debug them, go in yourself, and say that nobody waits for reports: ``REACTOR_TEST_REPORTS= COMMAND pytest -n0
DIRECTORY --pdb``, with the command that the directory's conftest.py names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

import pytest

_REPORTS = "REACTOR_TEST_REPORTS"
"""The environment variable that tells the inner pytest on which descriptor to report; empty for on none."""


def use_own_world(config, directory, enter):
    """Run the tests below ``directory`` by a command that begins with ``enter``, or report, if this is that run."""
    descriptor = os.environ.pop(_REPORTS, None)
    if descriptor is None:
        config.pluginmanager.register(Outside(directory, enter))
    elif descriptor:
        config.pluginmanager.register(Inside(config, int(descriptor)))


class Outside:
    """The plugin of the outer pytest: hands the tests over, all of them to one inner run."""

    def __init__(self, directory, enter):
        self._directory = directory
        self._enter = enter
        self._run = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        if not self._is_ours(item):
            return None
        if os.geteuid():
            item.add_marker(pytest.mark.skip("a world of one's own needs root"))
            return None
        if self._run is None:
            self._run = InnerRun([one for one in item.session.items if self._is_ours(one)], self._enter)
        self._run.replay(item)
        return True

    def _is_ours(self, item):
        return item.path.is_relative_to(self._directory)

    def pytest_sessionfinish(self):
        if self._run is not None:
            self._run.end()


class InnerRun:
    """One world, in which all of the given tests run, in their order."""

    def __init__(self, items, enter):
        self._config = items[0].config
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - until the end of the run
        # By default, it would be below that of the outer pytest, and pytest shuts that to other users when it begins.
        self._directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        reader, writer = os.pipe()
        python = [sys.executable, *(f"-W{option}" for option in sys.warnoptions)]
        self._process = subprocess.Popen(
            [
                *enter,
                *python,
                "-m",
                "pytest",
                "-n0",
                "-p",
                "no:cacheprovider",
                f"--basetemp={self._directory.name}/tests",
                *(item.nodeid for item in items),
            ],
            cwd=self._config.rootpath,
            env={**os.environ, _REPORTS: str(writer)},
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )
        os.close(writer)
        self._reports = os.fdopen(reader)

    def replay(self, item):
        """Report what the inner run says of ``item``, as it comes."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports_of(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _reports_of(self, item):
        hook = self._config.hook
        for line in self._reports:
            report = hook.pytest_report_from_serializable(config=self._config, data=json.loads(line))
            assert report.nodeid == item.nodeid, "the inner pytest runs the same tests in the same order"
            yield report
            if report.when == "teardown":
                return
        status = self._process.wait()
        self._output.seek(0)
        text = f"the inner pytest ended ({status}) before this test:\n{self._output.read()}"
        yield pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")

    def end(self):
        """Stop it, if it still runs."""
        self._process.terminate()
        self._process.wait()
        self._reports.close()
        self._output.close()
        self._directory.cleanup()


class Inside:
    """The plugin of the inner pytest: writes every report as a line of JSON."""

    def __init__(self, config, descriptor):
        os.set_inheritable(descriptor, False)
        self._config = config
        self._pipe = os.fdopen(descriptor, "w", buffering=1)

    def pytest_runtest_logreport(self, report):
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._pipe.write(json.dumps(data) + "\n")
