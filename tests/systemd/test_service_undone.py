"""What somebody else undoes of a unit's links between the apply and the look after it: drift, and no failure."""

from __future__ import annotations

import pytest
from foreign_writer import assert_repaired_after_foreign_writer
from unit_worlds import VENDOR

from reactor.resources.service import Service

FEW = 5


@pytest.mark.parametrize(
    ("undo", "wanted", "after"),
    [
        ("disable", {"enable": True}, "enabled"),
        ("enable", {"enable": False}, "disabled"),
        ("unmask", {"masked": True}, "masked"),
        ("mask", {"masked": False}, "disabled"),
    ],
)
@pytest.mark.parametrize("at_once", [False, True])
async def test_links_of_a_unit_undone_by_others_are_drift_again(app, undo, wanted, after, at_once):
    app.path.unlink()
    app.path = VENDOR / app.full
    app.write()
    app.ctl("daemon-reload")
    app.ctl(undo)
    ours = Service(name=app.name, ensure="stopped", **wanted)
    await assert_repaired_after_foreign_writer(ours, lambda: app.ctl(undo), FEW, at_once=at_once)
    assert app.enabled == after
    app.path.unlink()
