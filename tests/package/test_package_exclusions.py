"""Packages that exclude each other, and that one manifest has, do not take turns."""

from __future__ import annotations

import pytest
from deb_packages import Deb
from package_checks import package

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.testing.story import converge_once


@pytest.fixture
def exclusive(apt):
    """A repository with two packages of which a host may have one."""
    apt.offer(Deb("one", conflicts="two"), Deb("two", conflicts="one"), Deb("tiny0"))
    apt.update()
    return apt


async def told(host, *names, noop):
    """The result of each package, and all errors."""
    _, story = await converge_once(*(package(host, name) for name in names), options=RunOptions(noop=noop))
    checks = [story.checks(f"package#{name}")[-1] for name in names]
    return [check.result for check in checks], "\n".join(check.error or "" for check in checks)


async def test_of_two_that_are_missing_one_is_installed_and_the_other_refused_as_a_dry_run_says(exclusive):
    results, errors = await told(exclusive, "one", "two", "tiny0", noop=True)
    assert sorted(results) == sorted([Result.WOULD_CHANGE, Result.FAILED, Result.WOULD_CHANGE])
    results, errors = await told(exclusive, "one", "two", "tiny0", noop=False)
    assert sorted(results) == sorted([Result.CHANGED, Result.FAILED, Result.CHANGED])
    assert "which the manifest has, too" in errors


@pytest.mark.parametrize("noop", [True, False])
async def test_the_one_that_is_there_stays(exclusive, noop):
    exclusive.install("one")
    results, errors = await told(exclusive, "one", "two", noop=noop)
    assert results == [Result.OK, Result.FAILED]
    assert errors.strip() == "can't install two: that would remove one, which the manifest has, too"
    assert exclusive.packages.keys() == {"one"}


async def test_one_that_the_manifest_does_not_have_makes_room(exclusive):
    exclusive.install("one")
    results, _ = await told(exclusive, "two", noop=False)
    assert results == [Result.CHANGED]
    assert exclusive.packages.keys() == {"two"}
