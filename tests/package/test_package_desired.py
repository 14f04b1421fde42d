"""What else is wanted of packages: purged, held, with or without recommendations, and without what nothing needs any more."""

from __future__ import annotations

import pytest
from deb_packages import Deb
from one_shot import checked
from package_checks import package
from pydantic import ValidationError
from rpm_packages import Rpm, write_repository

from reactor.engine.events import Result
from reactor.resources.package import Package, providers
from reactor.testing.story import converge_once, running


async def is_settled(resource):
    return (await checked(resource)).result is Result.OK


@pytest.fixture
def advised(host, tmp_path):
    """A host whose repository has a package that needs one and recommends another."""
    if host.manager == "apt":
        host.offer(Deb("main", depends="lib", recommends="nice"), Deb("lib"), Deb("nice"), Deb("tiny0"))
        host.update()
    else:
        rpms = (Rpm("main", requires="lib", recommends="nice"), Rpm("lib"), Rpm("nice"))
        write_repository(tmp_path / "advised", rpms)
        host.describe("advised", f"file://{tmp_path}/advised")
    return host


async def test_a_purged_package_leaves_no_configuration(apt):
    apt.install("app")
    file = apt.root / "etc/app.conf"
    file.write_text("mine\n")
    purged = package(apt, "app", "purged")
    assert (await checked(purged, noop=True)).actions == ("Would have purged",)
    assert file.exists()
    check = await checked(purged)
    assert (check.error, check.actions) == (None, ("purged",))
    assert not file.exists()
    assert await is_settled(purged)


async def test_what_a_removed_package_left_is_purged(apt):
    apt.install("app")
    apt.apt_get("remove", "app")
    file = apt.root / "etc/app.conf"
    assert file.exists()
    assert await is_settled(package(apt, "app", "absent"))
    check = await checked(package(apt, "app", "purged"))
    assert (check.error, check.actions) == (None, ("purged",))
    assert not file.exists()


async def test_absent_and_purged_are_two_transactions(apt):
    apt.install("app", "tiny0")
    before = len(apt.transactions)
    ended, _ = await converge_once(package(apt, "app", "purged"), package(apt, "tiny0", "absent"))
    assert ended.changes == 2
    assert len(apt.transactions) == before + 2
    assert "tiny0" in apt.run("dpkg-query", "-W", "-f", "${Package} ${Status}\n") or apt.packages == {}


def test_dnf_says_that_it_can_t_purge():
    with pytest.raises(ValidationError, match="dnf can't purge"):
        Package(name="app", ensure="purged", provider="dnf")


@pytest.mark.parametrize("recommends", [True, False])
async def test_what_is_recomrepaired_comes_along_or_not(advised, recommends):
    check = await checked(package(advised, "main", install_recommends=recommends))
    assert check.error is None
    assert advised.packages.keys() == {"main", "lib", *(["nice"] if recommends else [])}


async def test_two_with_other_wishes_for_recommendations_are_two_transactions(advised):
    one = package(advised, "main", install_recommends=False)
    ended, _ = await converge_once(one, package(advised, "tiny0", install_recommends=True))
    assert ended.changes == 2
    assert advised.packages.keys() == {"main", "lib", "tiny0"}


@pytest.mark.parametrize("autoremove", [True, False])
async def test_what_nothing_needs_any_more_goes_on_request_only(advised, autoremove):
    await checked(package(advised, "main", install_recommends=False))
    gone = package(advised, "main", "absent", autoremove=autoremove)
    would = await checked(gone, noop=True)
    assert would.actions == ("Would have uninstalled" + "; would also have removed lib" * autoremove,)
    check = await checked(gone)
    assert check.actions == ("uninstalled" + "; also removed lib" * autoremove,)
    assert advised.packages.keys() == (set() if autoremove else {"lib"})


@pytest.fixture
def holding(host, monkeypatch):
    """Either host, with what it needs to hold packages."""
    if host.manager == "dnf":
        host.lock()
        monkeypatch.setitem(providers.made, "dnf", host.provider())
    return host


OLD = {"apt": "1.0-1", "dnf": "1.0-1"}


async def test_a_package_is_held_and_released(holding):
    old = OLD[holding.manager]
    held = package(holding, "app", old, hold=True)
    check = await checked(held)
    assert (check.error, check.actions) == (None, (f"installed version {old} and held",))
    assert await is_settled(held)
    (holding.apt_get if holding.manager == "apt" else holding.dnf)("upgrade")
    assert holding.packages["app"].removeprefix("0:") == old
    released = package(holding, "app", hold=False)
    assert (await checked(released, noop=True)).actions == ("Would have released",)
    check = await checked(released)
    assert (check.error, check.actions) == (None, ("released",))
    assert await is_settled(released)


async def test_a_held_package_is_moved_to_another_version_and_held_there(holding):
    await checked(package(holding, "app", OLD[holding.manager], hold=True))
    newer = "2.0-1" if holding.manager == "apt" else "2.0-9.el9"
    moved = package(holding, "app", newer, hold=True)
    check = await checked(moved)
    assert (check.error, check.actions) == (None, (f"upgraded to {newer}",))
    assert holding.packages["app"].removeprefix("0:") == newer
    assert await is_settled(moved)


async def test_a_hold_that_another_process_takes_away_comes_back(holding):
    held = package(holding, "app", hold=True)
    async with running(held) as story:
        await story.converged()
        if holding.manager == "apt":
            holding.run("apt-mark", "unhold", "app")
        else:
            holding.hold_list.write_text("")
        await story.until(lambda: len([c for c in story.checks(held.ref) if c.result is Result.CHANGED]) >= 2)
    assert await is_settled(held)


@pytest.mark.parametrize(
    ("properties", "wrong"),
    [
        ({"ensure": "present", "autoremove": True}, "autoremove"),
        ({"ensure": "absent", "hold": True}, "hold"),
        ({"ensure": "latest", "hold": True}, "hold"),
    ],
)
def test_what_does_not_go_together_is_refused(properties, wrong):
    with pytest.raises(ValidationError) as raised:
        Package(name="app", **properties)
    (error,) = raised.value.errors()
    assert {problem.path[0] for problem in error["ctx"]["error"].problems} == {wrong}


async def test_a_dry_run_says_that_a_package_can_not_be_authenticated(apt):
    sources = apt.root / "etc/apt/sources.list"
    sources.write_text(sources.read_text().replace("[trusted=yes] ", "[allow-insecure=yes] "))
    apt.update()
    would = await checked(package(apt, "dependent"), noop=True)
    assert would.error == (
        f"apt can't authenticate app and dependent: the lists of copy:{apt.repository}/ are not signed"
    )
    check = await checked(package(apt, "dependent"))
    assert check.hint == would.hint
    assert "trusted: true" in check.hint
    assert apt.packages == {}
    (apt.root / "etc/apt/apt.conf.d/careless").write_text('APT::Get::AllowUnauthenticated "true";\n')
    assert (await checked(package(apt, "dependent"), noop=True)).result is Result.WOULD_CHANGE
