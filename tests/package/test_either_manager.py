"""What holds with apt and with dnf alike, each in a system of its own."""

from __future__ import annotations

import pytest

from reactor.engine.events import Result
from reactor.testing.story import converge_once
from resources.package import Package


def package(host, name, ensure="present", **properties):
    return Package(name=name, ensure=ensure, provider=host.manager, **properties)


@pytest.mark.parametrize("order", [{}, {"require": "package#app"}])
async def test_what_brings_a_package_that_is_to_be_absent_does_not_end_well(order, host):
    ended, story = await converge_once(package(host, "dependent", **order), package(host, "app", "absent"))
    assert host.packages.keys() == {"dependent", "app"}
    assert ended.counts[Result.FAILED] == 1
    check = story.checks("package#app")[-1]
    assert (
        check.error
        == "as desired at first, and no more, since package#dependent was changed: Would have uninstalled"
    )
    assert "can't both be as declared" in check.hint


async def test_what_takes_a_package_that_is_to_be_present_along_does_not_end_well(host):
    host.install("dependent")
    ended, story = await converge_once(package(host, "dependent"), package(host, "app", "absent"))
    assert ended.counts[Result.FAILED] == 1
    assert "no more, since package#app was changed" in story.checks("package#dependent")[-1].error


async def test_when_all_is_well_no_program_is_started(host, monkeypatch):
    resources = [package(host, "tiny0"), package(host, "tiny1"), package(host, "nosuch", "absent")]
    await converge_once(*resources)

    async def refuse(*_):
        raise AssertionError("a program was started")

    monkeypatch.setattr("resources.package.programs.run", refuse)
    ended, _ = await converge_once(*resources)
    assert ended.counts[Result.OK] == 3
