"""The tests of this directory run inside a real systemd: ``pytest`` boots one for them."""

from pathlib import Path

import pytest
from own_world import use_own_world
from unit_worlds import Unit, remove_units

HERE = Path(__file__).parent


def pytest_configure(config):
    use_own_world(config, HERE, [HERE / "with-systemd"])


@pytest.fixture
def unhurried(monkeypatch):
    """Who shares a reload of systemd has time to come: on a busy machine, the next one may come late."""
    monkeypatch.setattr("reactor.resources.service.daemon_reload.GATHER", 0.5)
    monkeypatch.setattr("reactor.resources.service.daemon_reload.LONGEST", 60.0)


@pytest.fixture(autouse=True)
def no_unit_is_left():
    yield
    remove_units()


@pytest.fixture
def app():
    """A unit that was written just now; systemd does not know of it."""
    return Unit().write()


@pytest.fixture(params=["bus", "systemctl"])
def way(request, monkeypatch):
    """Both ways to systemd."""
    if request.param == "systemctl":
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere")
    return request.param
