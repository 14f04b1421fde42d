"""How a unit of a real systemd is shown, and what its provider says of itself."""

from __future__ import annotations

import pytest

from reactor.resources.service import Service


@pytest.mark.usefixtures("way")
async def test_a_unit_is_shown_in_the_words_of_its_properties(app):
    stopped = await Service(name=app.name).describe()
    assert (stopped["ensure"], stopped["enable"], stopped["masked"]) == ("stopped", False, False)
    app.ctl("enable", "--now", "--no-reload")
    running = await Service(name=app.name).describe()
    assert (running["ensure"], running["enable"], running["active"]) == ("running", True, "active")


async def test_a_unit_that_is_not_there_is_absent():
    assert await Service(name="no-such-unit-at-all").describe() == {"ensure": "absent"}


def test_systemd_works_where_it_runs():
    assert Service.unavailable_reason("systemd") is None
