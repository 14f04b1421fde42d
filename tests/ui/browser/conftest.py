"""One browser for all tests of the page; each has a tab of its own, which must have nothing to complain of."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "cli"))

from chromium import browser
from live_pages import PageTab


@pytest.fixture(scope="session")
def wire(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("chromium")) as wire:
        yield wire


@pytest.fixture
def tab(wire):
    tab = PageTab(wire)
    yield tab
    assert tab.complaints() == []
    tab.close()
