"""The default locale on a real systemd: services that start from now on have it."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit_worlds import kill_bus, systemctl

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.locale import Locale
from reactor.testing.story import converge_once

FILES = (Path("/etc/default/locale"), Path("/etc/locale.conf"))


@pytest.fixture(autouse=True)
def usual():
    for file in FILES:
        file.unlink(missing_ok=True)
    systemctl("set-environment", "LANG=C.UTF-8")
    yield
    systemctl("unset-environment", "LC_TIME")


def known():
    return [line for line in systemctl("show-environment").splitlines() if line.startswith(("LANG=", "LC_"))]


async def test_services_have_the_new_locale_without_a_boot():
    resource = Locale(name="C", default=True, variables={"LC_TIME": "C.UTF-8"})
    await converge_once(resource, options=RunOptions(noop=True))
    assert known() == ["LANG=C.UTF-8"]
    ended, _ = await converge_once(resource)
    assert (ended.changes, known()) == (1, ["LANG=C", "LC_TIME=C.UTF-8"])
    ended, _ = await converge_once(resource)
    assert ended.changes == 0


async def test_the_file_counts_where_systemd_does_not_answer(monkeypatch):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/no/such/bus")
    kill_bus()
    resource = Locale(name="C", default=True)
    _, story = await converge_once(resource)
    assert story.result(resource.ref) is Result.CHANGED
    assert "LANG=C\n" in FILES[0].read_text().replace('"', "")
