"""Runs tests in a pytest of its own inside a real systemd, and replays its reports out here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import pytest

WITH_SYSTEMD = Path(__file__).with_name("with-systemd")
REPORTS = "TESTS_INSIDE_SYSTEMD_REPORT_TO"
"""The environment variable that tells the inner pytest on which descriptor to report."""


def is_inside() -> bool:
    return Path("/run/with-systemd/ready").exists()


class InnerRun:
    """One boot, in which all of the given tests run, in their order."""

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._config = items[0].config
        self._said = Path(tempfile.mkdtemp(prefix="inside-systemd-")) / "output"
        reader, writer = os.pipe()
        with self._said.open("w") as output:
            self._process = self._start(items, writer, output)
        os.close(writer)
        self._reports = os.fdopen(reader)

    def _start(self, items: Sequence[pytest.Item], writer: int, output: TextIO) -> subprocess.Popen[bytes]:
        python = [sys.executable, *(f"-W{option}" for option in sys.warnoptions)]
        return subprocess.Popen(
            [
                WITH_SYSTEMD,
                *python,
                "-m",
                "pytest",
                "-n0",
                "-p",
                "no:cacheprovider",
                *(item.nodeid for item in items),
            ],
            cwd=self._config.rootpath,
            env={**os.environ, REPORTS: str(writer)},
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )

    def replay(self, item: pytest.Item) -> None:
        """Report what the inner run says of ``item``, as it comes."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports_of(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _reports_of(self, item: pytest.Item) -> Iterator[pytest.TestReport]:
        for line in self._reports:
            report = self._config.hook.pytest_report_from_serializable(
                config=self._config, data=json.loads(line)
            )
            assert report.nodeid == item.nodeid, "the inner pytest runs the same tests in the same order"
            yield report
            if report.when == "teardown":
                return
        self._process.wait()
        text = (
            f"the inner pytest ended ({self._process.returncode}) before this test:\n{self._said.read_text()}"
        )
        yield pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")

    def end(self) -> None:
        """Stop it, if it still runs."""
        self._process.terminate()
        self._process.wait()
        self._reports.close()
        self._said.unlink()
        self._said.parent.rmdir()


class Reporter:
    """The plugin of the inner pytest: writes every report as a line of JSON."""

    def __init__(self, config: pytest.Config, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._config = config
        self._pipe = os.fdopen(descriptor, "w", buffering=1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._pipe.write(json.dumps(data) + "\n")
