"""The tests of this directory run inside a real systemd: ``pytest`` boots one for them, and shows what they report.

To debug one, go in yourself: ``tests/systemd/with-systemd .venv/bin/pytest tests/systemd --pdb``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from inside_systemd import REPORTS, InnerRun, Reporter, is_inside

HERE = Path(__file__).parent
INNER_RUN = pytest.StashKey[InnerRun]()


def pytest_configure(config):
    if is_inside() and REPORTS in os.environ:
        config.pluginmanager.register(Reporter(config, int(os.environ.pop(REPORTS))))


def pytest_collection_modifyitems(items):
    """Only root can make the namespaces."""
    if os.geteuid():
        for item in items:
            if item.path.is_relative_to(HERE):
                item.add_marker(pytest.mark.skip("a systemd of its own needs root"))


def pytest_runtest_protocol(item):
    """Outside, hand the test over. Returns whether that was done."""
    if is_inside() or os.geteuid() or not item.path.is_relative_to(HERE):
        return None
    stash = item.config.stash
    if INNER_RUN not in stash:
        stash[INNER_RUN] = InnerRun([one for one in item.session.items if one.path.is_relative_to(HERE)])
    stash[INNER_RUN].replay(item)
    return True


def pytest_sessionfinish(session):
    if INNER_RUN in session.config.stash:
        session.config.stash[INNER_RUN].end()
