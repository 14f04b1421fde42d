"""Runs the tests of a directory in a world of their own: with the mounts, the host name, the network and the /etc of
no one else.

A second pytest runs them, inside new namespaces, and its reports are shown here as if they had been made here. The
namespaces end with it, so whatever a test leaves behind is gone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import pytest

_REPORTS = "REACTOR_TEST_REPORTS"
_UNSHARE = ("unshare", "--mount", "--uts", "--net", "--ipc", "--")
_PATIENCE = 300

inside = _REPORTS in os.environ


class Outside:
    """Hands the tests below ``directory`` to a pytest inside, and passes its reports on."""

    def __init__(self, config, directory):
        self.config = config
        self.directory = Path(directory)
        self.reports = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if not self._is_ours(item):
            return None
        if os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="a world of one's own needs root"))
            return None
        if self.reports is None:
            self.reports = self._run([each.nodeid for each in item.session.items if self._is_ours(each)])
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self.reports[item.nodeid]:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _is_ours(self, item):
        return self.directory in item.path.parents

    def _run(self, nodeids):
        """Run the tests inside, and read the pipe through which their reports come."""
        reading, writing = os.pipe()
        command = [*_UNSHARE, sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", *nodeids]
        with open(reading) as pipe, TemporaryFile("w+") as said:
            process = subprocess.Popen(
                command,
                cwd=self.config.rootpath,
                env={**os.environ, _REPORTS: str(writing)},
                pass_fds=[writing],
                stdout=said,
                stderr=subprocess.STDOUT,
            )
            os.close(writing)
            lines = pipe.readlines()
            process.wait(_PATIENCE)
            said.seek(0)
            output = said.read()
        reports = {nodeid: [] for nodeid in nodeids}
        for line in lines:
            report = self.config.hook.pytest_report_from_serializable(
                config=self.config, data=json.loads(line)
            )
            reports[report.nodeid].append(report)
        if not all(made and made[-1].when == "teardown" for made in reports.values()):
            pytest.exit(f"the tests in their own world did not come to an end:\n{output}", returncode=1)
        return reports


class Inside:
    """Tells the pytest outside what became of each test."""

    def __init__(self, config):
        self.config = config
        self.pipe = open(int(os.environ[_REPORTS]), "w", buffering=1)  # noqa: SIM115 - as long as the process

    def pytest_runtest_logreport(self, report):
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.pipe.write(json.dumps(data) + "\n")
