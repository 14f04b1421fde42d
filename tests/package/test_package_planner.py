"""The decision table of packages, with no host."""

from __future__ import annotations

import pytest

from reactor import ResourceError
from reactor.resources.package.dpkg_versions import compare
from reactor.resources.package.planner import Desired, PackageState, Step, plan_package

ABSENT = PackageState()
OLD = PackageState("1.0")
BROKEN = PackageState("1.0", is_whole=False)
NEWER = PackageState("1.0", newest="2.0")
AHEAD = PackageState("3.0", newest="2.0")
SIDE_BY_SIDE = PackageState("2.0", beside=("1.0", "1.5"), newest="3.0")
GONE_FROM_REPOSITORY = PackageState("1.0", newest=None)

TABLE = [
    ("purged", ABSENT, None, None, None),
    ("purged", OLD, Step.PURGE, None, "purged"),
    ("purged", BROKEN, Step.PURGE, None, "purged"),
    ("purged", PackageState(has_configuration=True), Step.PURGE, None, "purged"),
    ("absent", PackageState(has_configuration=True), None, None, None),
    ("present", ABSENT, Step.INSTALL, None, "installed version present"),
    ("present", OLD, None, None, None),
    ("present", BROKEN, Step.REINSTALL, None, "installed version present"),
    ("absent", ABSENT, None, None, None),
    ("absent", OLD, Step.REMOVE, None, "uninstalled"),
    ("absent", BROKEN, Step.REMOVE, None, "uninstalled"),
    ("latest", ABSENT, Step.INSTALL, None, "installed latest"),
    ("latest", NEWER, Step.UPGRADE, "2.0", "upgraded to latest"),
    ("latest", AHEAD, None, None, None),
    ("latest", GONE_FROM_REPOSITORY, None, None, None),
    ("latest", BROKEN, Step.REINSTALL, None, "installed latest"),
    ("1.0", ABSENT, Step.INSTALL, "1.0", "installed version 1.0"),
    ("1.0", OLD, None, None, None),
    ("0:1.00", OLD, None, None, None),
    ("1.0", BROKEN, Step.REINSTALL, "1.0", "installed version 1.0"),
    ("2.0", OLD, Step.UPGRADE, "2.0", "upgraded to 2.0"),
    ("0.9", OLD, Step.DOWNGRADE, "0.9", "downgraded to 0.9"),
    ("0:1.5", SIDE_BY_SIDE, None, None, None),
    ("latest", SIDE_BY_SIDE, Step.UPGRADE, "3.0", "upgraded to latest"),
    ("absent", SIDE_BY_SIDE, Step.REMOVE, None, "uninstalled"),
    ("1.0~rc1", OLD, Step.DOWNGRADE, "1.0~rc1", "downgraded to 1.0~rc1"),
]


@pytest.mark.parametrize(("ensure", "state", "step", "version", "did"), TABLE)
def test_each_state_leads_to_its_step(ensure, state, step, version, did):
    change = plan_package(Desired("app", ensure, 60), state, compare)
    found = (None, None, None) if change is None else (change.step, change.version, change.did)
    assert found == (step, version, did)


@pytest.mark.parametrize("ensure", ["absent", "2.0", "0.9"])
def test_what_is_held_is_not_changed_and_said(ensure):
    with pytest.raises(ResourceError, match=r"app is held at 1\.0") as caught:
        plan_package(Desired("app", ensure, 60), PackageState("1.0", is_held=True), compare)
    assert "apt-mark unhold app" in caught.value.hint


@pytest.mark.parametrize("ensure", ["present", "1.0"])
def test_what_is_held_as_wanted_is_well(ensure):
    assert plan_package(Desired("app", ensure, 60), PackageState("1.0", is_held=True), compare) is None
