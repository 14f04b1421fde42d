"""The rule ``service`` of goss, against a real systemd."""

from __future__ import annotations

import pytest
from unit_worlds import Unit, systemctl

from reactor.resource.health import HealthCheck, find_runner


async def look(name, **expected):
    check = HealthCheck(goss_rules={"service": {name: expected}})
    finding = await find_runner("goss_rules").examine(check.goss_rules)
    return finding.output


@pytest.fixture
def app():
    unit = Unit().write()
    systemctl("daemon-reload")
    return unit


async def test_a_service_runs_or_not(app):
    assert await look(app.name, running=False) == "1 rule holds"
    app.ctl("start")
    assert await look(app.full, running=True) == "1 rule holds"
    app.ctl("stop")
    assert await look(app.name, running=True) == f"service {app.name}: running is false, expected true"


async def test_a_service_is_enabled_or_not(app):
    assert await look(app.name, enabled=False, running=False) == "1 rule holds"
    app.ctl("enable")
    assert await look(app.name, enabled=True) == "1 rule holds"


async def test_a_service_that_does_not_exist_neither_runs_nor_is_enabled():
    assert await look("no-such-service", running=False, enabled=False) == "1 rule holds"
