"""One browser for all tests of the page; each has a tab of its own, which must have nothing to complain of."""

import pytest
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
