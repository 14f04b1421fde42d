"""A package that somebody else removes between the transaction and the look after it: drift, and no failure."""

from __future__ import annotations

from foreign_writer import assert_repaired_after_foreign_writer

from reactor.resources.package import Package


async def test_a_package_removed_by_others_is_drift_again(apt):
    ours = Package(name="app", ensure="present", provider="apt")
    await assert_repaired_after_foreign_writer(ours, lambda: apt.apt_get("remove", "app"), 2)
    assert "app" in apt.packages


async def test_one_of_those_installed_together_is_drift_again_alone(apt):
    several = [Package(name=name, ensure="present", provider="apt") for name in ("app", "tiny1")]
    await assert_repaired_after_foreign_writer(
        several[0], lambda: apt.apt_get("remove", "app"), 2, beside=several[1:]
    )
    assert {"app", "tiny1"} <= apt.packages.keys()
