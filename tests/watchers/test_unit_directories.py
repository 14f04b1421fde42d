"""Where the unit files of a systemd are."""

import pytest

from reactor.watchers.dbus import Scope
from reactor.watchers.units import directories


@pytest.mark.parametrize(
    ("scope", "first"), [(Scope.SYSTEM, "/etc/systemd/system"), (Scope.USER, "/config/systemd/user")]
)
def test_the_directory_of_the_administrator_or_the_user_wins(monkeypatch, scope, first):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/config")
    assert next(iter(directories(scope))).startswith(first)
