"""What holds with apt and with dnf alike, each in a system of its own."""

from __future__ import annotations

import math

import pytest
from package_checks import package

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.process import run
from reactor.testing.story import converge_once

DRY_RUN = RunOptions(noop=True)


@pytest.mark.parametrize("order", [{}, {"require": "package#app"}])
async def test_what_brings_a_package_that_is_to_be_absent_does_not_end_well(order, host):
    ended, story = await converge_once(package(host, "dependent", **order), package(host, "app", "absent"))
    assert host.packages.keys() == {"dependent", "app"}
    assert ended.counts[Result.FAILED] == 1
    check = story.checks("package#app")[-1]
    assert (
        check.error
        == "as desired at first, but no longer, since package#dependent was changed: Would have uninstalled;"
        " would also have removed dependent"
    )
    assert "can't both be as declared" in check.hint


async def test_what_takes_a_package_that_is_to_be_present_along_does_not_end_well(host):
    host.install("dependent")
    ended, story = await converge_once(package(host, "dependent"), package(host, "app", "absent"))
    assert ended.counts[Result.FAILED] == 1
    assert "but no longer, since package#app was changed" in story.checks("package#dependent")[-1].error


@pytest.mark.parametrize("options", [RunOptions(), DRY_RUN])
async def test_when_all_is_well_no_program_is_started(options, host, forbid_programs):
    resources = [package(host, "tiny0"), package(host, "tiny1"), package(host, "nosuch", "absent")]
    await converge_once(*resources)
    forbid_programs()
    ended, _ = await converge_once(*resources, options=options)
    assert ended.counts[Result.OK] == 3


async def test_a_dry_run_refuses_what_no_repository_has_in_the_words_of_a_run(host):
    resources = package(host, "tiny0"), package(host, "nosuch"), package(host, "app", "9.9")
    ended, predicted = await converge_once(*resources, options=DRY_RUN)
    assert (ended.counts[Result.WOULD_CHANGE], ended.counts[Result.FAILED]) == (1, 2)
    assert host.packages == {}
    _, real = await converge_once(*resources)
    for ref in ("package#nosuch", "package#app"):
        said, done = predicted.checks(ref)[0], real.checks(ref)[0]
        assert (said.error, said.hint) == (done.error, done.hint)
        assert "no repository has" in said.error


async def test_a_dry_run_asks_for_all_packages_at_once(host, monkeypatch):
    questions = []

    async def overhear(command, *more):
        questions.extend({"policy", "repoquery"}.intersection(command.arguments))
        return await run(command, *more)

    monkeypatch.setattr("reactor.resources.package.commands.run", overhear)
    monkeypatch.setattr("reactor.resources.package.dnf._ASK_AGAIN", math.inf)  # no minute ends meanwhile
    await converge_once(*(package(host, f"tiny{number}") for number in range(4)), options=DRY_RUN)
    assert len(questions) == 1
