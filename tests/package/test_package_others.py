"""What a package manager adds, takes or changes beside what it is asked for is told, and what all need is not taken."""

from __future__ import annotations

import os
import re
import sys

import pytest
from apt_root import AptRoot
from deb_packages import Deb
from package_checks import package

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.package import providers
from reactor.resources.process import run
from reactor.testing.story import converge_once

RUN, NOOP = RunOptions(), RunOptions(noop=True)


async def said_of(*resources, options=RUN):
    """What each check says was done, or would be, or failed, by the name of the package."""
    _, story = await converge_once(*resources, options=options)
    checks = {name: story.checks(f"package#{name}")[0] for name in (resource.name for resource in resources)}
    return {name: check.error or "; ".join(check.actions) for name, check in checks.items()}


def without_release(text):
    """As the tests write versions: of RPM packages, the release is another one."""
    return re.sub(r"(\d)-\d+(\.el9)?", r"\1", text)


async def test_what_goes_along_with_a_package_is_named_before_and_after(host):
    host.install("dependent")
    said = await said_of(package(host, "app", "absent"), options=NOOP)
    assert said == {"app": "Would have uninstalled; would also have removed dependent"}
    assert host.packages.keys() == {"app", "dependent"}
    said = await said_of(package(host, "app", "absent"))
    assert said == {"app": "uninstalled; also removed dependent"}
    assert host.packages == {}


async def test_what_comes_with_a_package_is_named_before_and_after(host):
    newest = "2.1" if host.manager == "apt" else "2.1~rc1"
    said = await said_of(package(host, "dependent"), options=NOOP)
    assert without_release(said["dependent"]) == (
        f"Would have installed version present; would also have installed app {newest}"
    )
    assert host.packages == {}
    said = await said_of(package(host, "dependent"))
    assert without_release(said["dependent"]) == f"installed version present; also installed app {newest}"
    assert host.packages.keys() == {"app", "dependent"}


async def test_what_is_upgraded_for_a_package_is_named(host):
    old = next(version for version in ("1.0-1",))
    await converge_once(package(host, "app", old))
    said = await said_of(package(host, "dependent"), options=NOOP)
    assert "; would also have upgraded app from 1.0-1 to 2.1" in said["dependent"]
    said = await said_of(package(host, "dependent"))
    assert "; also upgraded app from 1.0-1 to 2.1" in said["dependent"]


@pytest.mark.parametrize("architecture", ["amd64", "all"])
async def test_a_name_with_an_architecture_is_not_named_beside_itself(apt, architecture):
    apt.offer(Deb("one", architecture=architecture, depends="along"), Deb("along"), Deb("top", depends="one"))
    apt.update()
    name = f"one:{architecture}"
    for options, would in ((NOOP, "Would have "), (RUN, "")):
        said = await said_of(package(apt, name), options=options)
        assert said[name].removeprefix(would).replace("would ", "").replace("have ", "") == (
            "installed version present; also installed along 1.0"
        )
    apt.install("top")
    for options in (NOOP, RUN):
        said = await said_of(package(apt, name, "absent"), options=options)
        assert said[name].endswith("removed top")
    assert apt.packages.keys() == {"along"}


async def test_a_name_with_the_architecture_of_an_rpm_is_not_named_beside_itself(dnf):
    for options, would in ((NOOP, "Would have "), (RUN, "")):
        said = await said_of(package(dnf, "tiny0.noarch"), options=options)
        assert said == {"tiny0.noarch": f"{would}installed version present"}


async def test_configuration_files_stay_although_apt_is_configured_to_purge(apt):
    files = {name: apt.root / f"etc/{name}.conf" for name in ("gone", "old")}
    debs = [Deb(name, conffiles={f"/etc/{name}.conf": "by the package\n"}) for name in files]
    apt.offer(*debs, Deb("new", conflicts="old"))
    apt.update()
    apt.install(*files)
    (apt.root / "etc/apt/apt.conf.d/99purge").write_text('APT::Get::Purge "true";\n')
    await said_of(package(apt, "gone", "absent"), package(apt, "new"))
    assert apt.packages.keys() == {"new"}
    assert all(file.exists() for file in files.values())
    said = await said_of(package(apt, "gone", "purged"))
    assert said == {"gone": "purged"}
    assert [file.exists() for file in files.values()] == [False, True]


async def test_a_package_that_comes_alone_says_nothing_more(host):
    for options in (NOOP, RunOptions()):
        said = await said_of(package(host, "tiny0"), package(host, "tiny1"), options=options)
        assert {text.removeprefix("Would have ") for text in said.values()} == {"installed version present"}


async def test_each_event_of_a_transaction_reports_what_that_did_beside_what_was_asked(host):
    said = await said_of(package(host, "tiny0"), package(host, "dependent"))
    for name, other in (("tiny0", "dependent"), ("dependent", "tiny0")):
        assert f"; one transaction with {other} also installed app 2.1" in said[name]
    host_packages = host.packages.keys()
    assert host_packages == {"tiny0", "dependent", "app"}


async def test_a_dry_run_of_many_packages_asks_once(host, monkeypatch):
    asked = []

    async def overhear(command, *more):
        asked.extend({"--simulate", "--assumeno"}.intersection(command.arguments))
        return await run(command, *more)

    monkeypatch.setattr("reactor.resources.package.commands.run", overhear)
    said = await said_of(*(package(host, f"tiny{number}") for number in range(4)), options=NOOP)
    assert set(said.values()) == {"Would have installed version present"}
    assert len(asked) == 1


async def test_one_package_that_can_not_be_foreseen_hides_nothing_of_the_others(apt):
    apt.offer(Deb("broken", depends="nosuch"), Deb("fine", depends="along"), Deb("along"))
    apt.update()
    said = await said_of(package(apt, "broken"), package(apt, "fine"), options=NOOP)
    assert said["fine"] == "Would have installed version present; would also have installed along 1.0"
    assert "Depends: nosuch but it is not installable" in said["broken"]
    real = await said_of(package(apt, "broken"), package(apt, "fine"))
    assert "Depends: nosuch but it is not installable" in real["broken"]


async def test_what_conflicts_with_a_package_is_named_before_it_goes(apt):
    apt.offer(Deb("old"), Deb("new", conflicts="old"))
    apt.update()
    apt.install("old")
    said = await said_of(package(apt, "new"), options=NOOP)
    assert said["new"] == "Would have installed version present; would also have removed old"
    assert apt.packages.keys() == {"old"}
    said = await said_of(package(apt, "new"))
    assert said["new"] == "installed version present; also removed old"
    assert apt.packages.keys() == {"new"}


OWN = os.path.realpath(sys.executable)


@pytest.mark.parametrize("ways", ["absent", "conflict", "dependency"])
@pytest.mark.parametrize("options", [NOOP, RunOptions()])
async def test_what_reactor_itself_runs_on_is_not_taken(apt, ways, options):
    """Whether it is named, goes with what it needs, or is in the way of another."""
    apt.offer(
        Deb("interpreter", files={OWN: ""}, depends="library"),
        Deb("library"),
        Deb("other", conflicts="interpreter"),
    )
    apt.update()
    apt.install("interpreter")
    before = apt.packages
    wanted = {
        "absent": package(apt, "interpreter", "absent"),
        "dependency": package(apt, "library", "absent"),
        "conflict": package(apt, "other"),
    }[ways]
    said = await said_of(wanted, package(apt, "nosuch", "absent"), options=options)
    assert said[wanted.name].startswith("refusing to remove interpreter, which reactor itself runs on")
    assert apt.packages == before


@pytest.mark.parametrize("options", [NOOP, RunOptions()])
async def test_what_is_refused_keeps_no_other_package(apt, options):
    apt.offer(Deb("interpreter", files={OWN: ""}), Deb("tiny"))
    apt.update()
    apt.install("interpreter", "tiny")
    said = await said_of(
        package(apt, "interpreter", "absent"), package(apt, "tiny", "absent"), options=options
    )
    assert said["interpreter"].startswith("refusing to remove interpreter")
    assert said["tiny"] in ("Would have uninstalled", "uninstalled")
    assert ("tiny" in apt.packages) is bool(options.noop)


@pytest.mark.parametrize("options", [NOOP, RunOptions()])
async def test_the_package_manager_and_what_is_essential_are_not_taken(apt, options):
    apt.offer(Deb("dpkg"), Deb("vital", essential=True), Deb("needs-vital", depends="vital"))
    apt.update()
    apt.install("dpkg", "vital")
    said = await said_of(package(apt, "dpkg", "absent"), package(apt, "vital", "absent"), options=options)
    assert said["dpkg"].startswith("refusing to remove dpkg, which is essential")
    assert said["vital"].startswith("refusing to remove vital, which is essential")
    assert apt.packages.keys() == {"dpkg", "vital"}


@pytest.mark.parametrize("options", [NOOP, RunOptions()])
async def test_a_held_package_does_not_go_along(apt, options):
    apt.install("dependent")
    apt.run("apt-mark", "hold", "dependent")
    said = await said_of(package(apt, "app", "absent"), options=options)
    assert "dependent : Depends: app (>= 2.0) but it is not going to be installed" in said["app"]
    assert apt.packages.keys() == {"app", "dependent"}


@pytest.mark.parametrize("options", [NOOP, RunOptions()])
async def test_dnf_does_not_take_what_reactor_itself_runs_on_either(dnf, options, monkeypatch):
    dnf.install("dependent")
    monkeypatch.setattr("reactor.resources.package.dnf.Dnf._own_packages", lambda _: _names("dependent"))
    said = await said_of(package(dnf, "app", "absent"), options=options)
    assert "protected packages: dependent" in said["app"]
    assert dnf.packages.keys() == {"app", "dependent"}


async def _names(*names):
    return frozenset(names)


async def test_without_lists_a_dry_run_says_that_it_can_not_report(tmp_path, monkeypatch):
    root = AptRoot(tmp_path / "system", Deb("app"))
    (root.root / "etc/apt/sources.list").write_text("deb [trusted=yes] copy:/nowhere ./\n")
    monkeypatch.setitem(providers.made, "apt", root.provider())
    said = await said_of(package(root, "app"), options=NOOP)
    assert said["app"] == (
        "Would have installed version present; what else would change is not known: there are no package lists"
    )


async def test_dnf_reports_nothing_to_other_users_than_root(dnf, monkeypatch):
    monkeypatch.setattr("reactor.resources.package.provider.missing_rights", lambda: "run as root")
    said = await said_of(package(dnf, "dependent"), options=NOOP)
    assert said["dependent"] == (
        "Would have installed version present; what else would change is not known: dnf simulates it for root only"
    )


async def test_nothing_is_simulated_when_there_is_nothing_to_do(host, forbid_programs):
    host.install("dependent")
    resource = package(host, "dependent")
    await converge_once(resource)
    forbid_programs()
    ended, _ = await converge_once(resource, options=NOOP)
    assert ended.counts[Result.OK] == 1
