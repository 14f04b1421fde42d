"""A declared package is no mere dependency: the package manager does not remove it when nothing needs it any more."""

from __future__ import annotations

import pytest
from one_shot import checked
from package_checks import package

from reactor.engine.events import Result
from reactor.testing.story import converge_once, running

MARKED = "marked as manually installed"


@pytest.fixture
def depended(host):
    """A host on which ``app`` is there because ``dependent`` needs it."""
    host.install("dependent")
    return host


def remove(host, name):
    """Remove the package and what nothing needs any more, as the administrator does."""
    host.run("apt-get", "-y", "remove", "--autoremove", name) if host.manager == "apt" else host.dnf(
        "remove", name
    )


@pytest.mark.parametrize("ensure", ["present", "latest"])
async def test_a_declared_dependency_stays_when_nothing_needs_it_any_more(depended, ensure):
    declared = package(depended, "app", ensure)
    assert (await checked(declared, noop=True)).actions == (f"Would have {MARKED}",)
    check = await checked(declared)
    assert (check.error, check.actions) == (None, (MARKED,))
    assert (await checked(declared)).result is Result.OK
    remove(depended, "dependent")
    assert depended.packages.keys() == {"app"}


async def test_a_change_of_its_version_says_so_too(depended):
    older = "2.0-1" if depended.manager == "apt" else "2.0-9.el9"
    check = await checked(package(depended, "app", older))
    assert (check.error, check.actions) == (None, (f"downgraded to {older} and {MARKED}",))
    remove(depended, "dependent")
    assert depended.packages.keys() == {"app"}


async def test_a_mark_and_a_hold_are_one_change(apt):
    apt.install("dependent")
    check = await checked(package(apt, "app", hold=True))
    assert (check.error, check.actions) == (None, (f"held and {MARKED}",))
    assert apt.run("apt-mark", "showauto") == ""
    assert apt.run("apt-mark", "showhold") == "app\n"


async def test_a_mark_has_no_part_in_the_transaction_of_others(depended):
    _, story = await converge_once(package(depended, "app"), package(depended, "tiny0"))
    assert story.checks("package#app")[0].actions == (MARKED,)
    assert story.checks("package#tiny0")[0].actions == ("installed version present",)


async def test_a_mark_as_a_dependency_does_not_hinder_a_removal(depended):
    check = await checked(package(depended, "app", "absent"))
    assert (check.error, check.actions) == (None, ("uninstalled; also removed dependent",))


async def test_a_package_that_another_process_marks_as_a_dependency_is_marked_back(apt):
    declared = package(apt, "app")
    async with running(declared) as story:
        await story.converged()
        apt.run("apt-mark", "auto", "app")
        await story.until(lambda: [c for c in story.checks(declared.ref) if c.actions == (MARKED,)])
    assert apt.run("apt-mark", "showauto") == ""
