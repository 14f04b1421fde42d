"""The real apt and dpkg, in a system of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import trio
from apt_root import eventually
from deb_packages import Deb, write_repository
from line_pipe import started

from reactor.engine.events import Cause, Output, Result
from reactor.engine.options import RunOptions
from reactor.resource.declared import declare, numbered
from reactor.resources.package import Package, providers
from reactor.resources.process import run
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running


def package(name, ensure="present", **properties):
    return Package(name=name, ensure=ensure, provider="apt", **properties)


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_packages_keep_the_contract_of_kinds(promise, apt):
    await promise(
        Case(
            make=lambda: package("app", "2.0-1"),
            world=lambda: apt.packages,
            spoil=lambda: apt.apt_get("remove", "app"),
        )
    )


async def test_versions_go_up_down_and_away(apt):
    for ensure, installed, did in [
        ("1.0-1", "1.0-1", "installed version 1.0-1"),
        ("2.0-1", "2.0-1", "upgraded to 2.0-1"),
        ("latest", "2.1-1", "upgraded to latest"),
        ("0:1.0-1", "1.0-1", "downgraded to 0:1.0-1"),
        ("absent", None, "uninstalled"),
    ]:
        ended, story = await converge_once(package("app", ensure))
        assert ended.counts[Result.CHANGED] == 1
        assert story.checks("package#app")[0].actions == (did,)
        assert apt.packages.get("app") == installed
        ended, _ = await converge_once(package("app", ensure))
        assert ended.changes == 0
    assert len(apt.transactions) == 5


async def test_present_leaves_an_older_version_alone(apt):
    apt.apt_get("install", "app=1.0-1")
    ended, _ = await converge_once(package("app"))
    assert ended.changes == 0
    assert apt.packages["app"] == "1.0-1"


async def test_configuration_of_the_administrator_is_kept_and_no_one_is_asked(apt):
    apt.apt_get("install", "app=1.0-1")
    file = apt.root / "etc/app.conf"
    file.write_text("mine\n")
    await converge_once(package("app", "2.0-1"))
    assert apt.packages["app"] == "2.0-1"
    assert file.read_text() == "mine\n"


async def test_many_are_one_transaction_and_each_has_its_own_outcome(apt):
    resources = [package(f"tiny{number}") for number in range(20)]
    ended, story = await converge_once(*resources)
    assert ended.changes == 20
    assert len(apt.transactions) == 1
    assert set(apt.packages) == {resource.name for resource in resources}
    assert all(
        story.checks(resource.ref)[0].actions == ("installed version present",) for resource in resources
    )


async def test_while_watching_they_are_two_at_most(apt):
    async with running(*(package(f"tiny{number}") for number in range(20))) as story:
        await story.converged()
    assert len(apt.packages) == 20
    assert len(apt.transactions) <= 2


async def test_so_they_are_with_one_job_only(apt):
    ended, _ = await converge_once(
        *(package(f"tiny{number}") for number in range(5)), options=RunOptions(jobs=1)
    )
    assert ended.changes == 5
    assert len(apt.transactions) == 1


async def test_a_bad_package_fails_alone(apt):
    good = [package(f"tiny{number}") for number in range(10)]
    ended, story = await converge_once(*good[:5], package("bad"), *good[5:])
    assert ended.counts[Result.CHANGED] == 10
    assert story.result("package#bad") is Result.FAILED
    error = story.checks("package#bad")[0].error
    assert error.startswith('failed to install package "bad", apt-get exited 100')
    assert "bad" not in apt.packages


async def test_an_unknown_package_and_an_unknown_version_fail_alone_and_cost_no_transaction(apt):
    ended, story = await converge_once(package("tiny0"), package("nosuch"), package("app", "9.9"))
    assert ended.counts[Result.CHANGED] == 1
    assert story.checks("package#nosuch")[0].error == 'no repository has a package "nosuch"'
    check = story.checks("package#app")[0]
    assert check.error == 'no repository has version 9.9 of package "app"'
    assert check.hint == "there is 2.1-1, 2.0-1, 1.0-1"
    assert len(apt.transactions) == 1


async def test_each_refusal_is_reported_also_when_the_transaction_fails(apt):
    apt.apt_get("install", "app=1.0-1")
    apt.run("apt-mark", "hold", "app")
    for deb in apt.repository.glob("tiny*.deb"):
        deb.unlink()
    _, story = await converge_once(
        *(package(f"tiny{number}") for number in range(20)), package("nosuch"), package("app", "2.0-1")
    )
    assert story.checks("package#nosuch")[0].error == 'no repository has a package "nosuch"'
    assert story.checks("package#app")[0].error.startswith("app is held at 1.0-1")
    # Which ones are still in question then depends on which came in time for the first transaction.
    errors = [story.checks(f"package#tiny{number}")[0].error for number in range(20)]
    assert any("given up" in error for error in errors)
    assert all("Err:" in error for error in errors)


async def test_an_error_quotes_what_apt_and_dpkg_name_as_the_cause(apt):
    script = "echo 'no licence was found'; exit 1"
    apt.offer(
        Deb("deep", depends="needs"),
        Deb("needs", depends="nowhere"),
        Deb("bad", scripts={"postinst": script}),
    )
    apt.update()
    _, story = await converge_once(package("deep"), package("bad"))
    assert "needs : Depends: nowhere but it is not installable" in story.checks("package#deep")[0].error
    error = story.checks("package#bad")[0].error
    assert "no licence was found" in error
    assert "dpkg: error processing package bad (--configure)" in error


@pytest.mark.parametrize("name", ["tiny.", "tiny0-", "tiny0+", "app~"])
async def test_an_unknown_name_is_no_pattern_and_no_order_to_remove(apt, name):
    apt.apt_get("install", "tiny0")
    ended, _ = await converge_once(package(name))
    assert ended.counts[Result.FAILED] == 1
    assert apt.packages == {"tiny0": "1.0"}


async def test_those_to_install_and_those_to_remove_are_two_transactions(apt):
    apt.apt_get("install", "tiny0", "tiny1")
    before = len(apt.transactions)
    await converge_once(
        *(package(name, "absent") for name in ("tiny0", "tiny1")), package("tiny2"), package("tiny3")
    )
    assert set(apt.packages) == {"tiny2", "tiny3"}
    assert len(apt.transactions) - before == 2


async def test_a_package_waits_for_what_it_requires(apt):
    await converge_once(package("tiny0"), package("tiny1", require="package#tiny0"))
    assert [line.split()[-1] for line in apt.transactions] == ["tiny0", "tiny1"]


async def test_where_a_name_repeats_the_last_one_says_what_is_to_be_in_the_end(apt):
    """As in manifests of the ``ccm:`` form."""
    gone = package("tiny0", "absent", after="package#tiny0")
    declare(gone, gone.declared._replace(ref=numbered(gone.ref, 2)))
    ended, _ = await converge_once(package("tiny0"), gone)
    assert ended.counts[Result.CHANGED] == 2
    assert apt.packages == {}


async def test_what_is_removed_behind_our_back_comes_back_in_one_transaction(apt):
    resources = [package(f"tiny{number}") for number in range(10)]
    async with running(*resources) as story:
        await story.converged()
        before = len(apt.transactions)
        await trio.to_thread.run_sync(apt.apt_get, "remove", *(resource.name for resource in resources))
        await story.until(
            lambda: len(story.checks("package#tiny0")) > 1 and set(apt.packages) >= {"tiny0", "tiny9"}
        )
        await story.rest()
    assert len(apt.packages) == 10
    assert len(apt.transactions) - before == 2, "theirs and ours"
    assert any(Cause.DRIFT in check.causes for check in story.checks("package#tiny0"))


@pytest.mark.parametrize("ensure", ["present", "latest", "1.0"])
async def test_a_package_is_found_by_the_architecture_of_the_host_too(ensure, apt):
    native = apt.run("dpkg", "--print-architecture").strip()
    apt.offer(Deb("native", architecture=native), Deb("anywhere"))
    apt.update()
    names = [f"native:{native}", f"anywhere:{native}", "anywhere:all"]
    for result in (Result.CHANGED, Result.OK):
        ended, _ = await converge_once(*(package(name, ensure) for name in names))
        assert ended.counts[result] == 3
        assert set(apt.packages) == {"native", "anywhere"}


async def test_a_name_without_an_architecture_is_about_that_of_the_host(apt):
    (apt.root / "var/lib/dpkg/arch").write_text("amd64\ni386\n")
    apt.offer(
        *(
            Deb("lib", architecture=each, multi_arch="same", files={f"/usr/lib/{each}/lib": "1"})
            for each in ("amd64", "i386")
        )
    )
    apt.update()
    for name, ensure, installed in [
        ("lib:i386", "present", {"lib:i386"}),
        ("lib", "present", {"lib:i386", "lib:amd64"}),
        ("lib", "absent", {"lib:i386"}),
    ]:
        for result in (Result.CHANGED, Result.OK):
            ended, _ = await converge_once(package(name, ensure))
            assert ended.counts[result] == 1
        found = apt.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}${binary:Package}\n").split("\n")
        assert {line.removeprefix("ii ") for line in found if line.startswith("ii")} == installed


@pytest.mark.parametrize("architecture", ["i386", "nonsense"])
@pytest.mark.parametrize("known", ["", "amd64\ni386\n"], ids=["one architecture", "two"])
async def test_a_package_for_every_architecture_is_none_for_another_one_than_that_of_the_host(
    apt, known, architecture
):
    if known:
        (apt.root / "var/lib/dpkg/arch").write_text(known)
    apt.offer(Deb("native", architecture="amd64"), Deb("anywhere"))
    apt.update()
    apt.install("native", "anywhere")
    ended, _ = await converge_once(package(f"anywhere:{architecture}", "absent"))
    assert ended.counts[Result.OK] == 1
    _, story = await converge_once(package(f"anywhere:{architecture}"))
    assert "anywhere" in apt.packages
    error = story.checks(f"package#anywhere:{architecture}")[0].error
    assert error == f'no repository has a package "anywhere:{architecture}"'


@pytest.mark.parametrize("name", ["native:all", "native:amd64", "anywhere:all", "anywhere:amd64"])
async def test_the_word_all_and_the_architecture_of_the_host_are_one_to_apt(apt, name):
    apt.offer(Deb("native", architecture="amd64"), Deb("anywhere"), Deb("other", architecture="amd64"))
    apt.update()
    apt.install("other")
    for ensure, there in [("present", True), ("absent", False)]:
        for result in (Result.CHANGED, Result.OK):
            ended, _ = await converge_once(package(name, ensure))
            assert ended.counts[result] == 1
            assert (name.partition(":")[0] in apt.packages) is there


async def test_a_package_that_there_is_for_another_architecture_only_is_not_found(apt):
    ended, _ = await converge_once(package("tiny0"), package("tiny1:s390x"))
    assert (ended.counts[Result.CHANGED], ended.counts[Result.FAILED]) == (1, 1)
    assert apt.packages == {"tiny0": "1.0"}


async def test_what_came_with_a_package_does_not_go_with_it_whatever_apt_is_configured_to(apt):
    apt.install("dependent")
    with (apt.root / "apt.conf").open("a") as configuration:
        configuration.write('APT::Get::AutomaticRemove "true";\n')
    ended, _ = await converge_once(package("app"), package("dependent", "absent"))
    assert ended.counts[Result.FAILED] == 0
    assert set(apt.packages) == {"app"}


async def test_a_held_package_is_left_alone_and_said(apt):
    apt.apt_get("install", "app=1.0-1")
    apt.run("apt-mark", "hold", "app")
    _, story = await converge_once(package("app", "2.0-1"))
    check = story.checks("package#app")[0]
    assert check.error == "app is held at 1.0-1, and would have to be upgraded to 2.0-1"
    assert "apt-mark unhold app" in check.hint
    assert apt.packages["app"] == "1.0-1"


async def test_a_held_package_is_the_latest_and_what_is_kept_back_is_reported(apt):
    apt.install("app=1.0-1")
    apt.run("apt-mark", "hold", "app")
    ended, story = await converge_once(package("app", "latest"), package("tiny0"))
    assert (ended.counts[Result.OK], ended.counts[Result.CHANGED]) == (1, 1)
    assert apt.packages["app"] == "1.0-1"
    assert [line.line for line in story.all(Output)] == [
        "app stays at 1.0-1: apt keeps back 2.1-1 (see apt-mark showhold)"
    ]


@pytest.mark.parametrize("ensure", ["present", "latest"])
async def test_a_package_that_the_preferences_keep_back_is_an_error_that_says_so(ensure, apt):
    (apt.root / "etc/apt/preferences.d/never").write_text("Package: app\nPin: version *\nPin-Priority: -1\n")
    _, story = await converge_once(package("app", ensure))
    check = story.checks("package#app")[0]
    assert check.error == 'the preferences of the package manager keep back every version of package "app"'
    assert check.hint == "correct them, or write one as ensure: there is 2.1-1, 2.0-1, 1.0-1"
    ended, _ = await converge_once(package("app", "2.0-1"))
    assert ended.counts[Result.CHANGED] == 1
    ended, _ = await converge_once(package("app", ensure))
    assert ended.counts[Result.OK] == 1
    assert apt.packages == {"app": "2.0-1"}


@pytest.mark.parametrize("ensure", ["2.0", "latest", "present"])
async def test_a_version_that_comes_to_some_hosts_first_is_on_offer(ensure, apt):
    """As updates of Ubuntu do: "2.0 500 (phased 10%)"."""
    apt.offer(Deb("phased", "2.0", phased=10))
    apt.update()
    ended, _ = await converge_once(package("phased", ensure))
    assert ended.counts[Result.CHANGED] == 1
    assert apt.packages == {"phased": "2.0"}


async def test_what_apt_is_configured_to_prefer_counts_at_once(apt):
    configuration = apt.root / "etc/apt/apt.conf.d/release"
    write_repository(apt.root / "old", Deb("app", "0.9"))
    with (apt.root / "etc/apt/sources.list").open("a") as sources:
        sources.write(f"deb [trusted=yes] copy:{apt.root}/old ./\n")
    for directory, suite in ((apt.root / "old", "old"), (apt.repository, "new")):
        (directory / "Release").write_text(f"Suite: {suite}\nDate: Sat, 01 Jan 2022 00:00:00 UTC\n")
    apt.update()
    for suite, version in [("old", "0.9"), ("new", "2.1-1")]:
        configuration.write_text(f'APT::Default-Release "{suite}";\n')
        await converge_once(package("app", "latest"))
        assert apt.packages == {"app": version}


async def test_a_name_that_packages_only_provide_goes_with_what_needs_it(apt):
    apt.offer(Deb("postfix", provides="mta"), Deb("mailer", depends="mta"))
    apt.update()
    ended, _ = await converge_once(package("mta"), package("mailer"))
    assert ended.counts[Result.FAILED] == 0
    assert set(apt.packages) == {"mailer", "postfix"}


async def test_what_was_left_half_configured_is_repaired(apt):
    apt.offer(Deb("tender", scripts={"postinst": f"test -e {apt.root}/mended"}))
    apt.update()
    ended, _ = await converge_once(package("tender"))
    assert ended.counts[Result.FAILED] == 1
    assert "tender" not in apt.packages
    (apt.root / "mended").touch()
    ended, _ = await converge_once(package("tender"))
    assert ended.counts[Result.CHANGED] == 1
    assert apt.packages == {"tender": "1.0"}


async def test_what_was_unpacked_without_its_dependency_gets_that_and_is_configured(apt):
    apt.offer(Deb("part"), Deb("whole", depends="part"))
    apt.update()
    apt.run("dpkg", "--unpack", *map(str, apt.repository.glob("whole_*.deb")))
    _, story = await converge_once(package("whole"), options=RunOptions(noop=True))
    (would,) = story.checks("package#whole")
    assert would.actions == ("Would have installed version present; would also have installed part 1.0",)
    _, story = await converge_once(package("whole"))
    (check,) = story.checks("package#whole")
    assert check.actions == ("installed version present; also installed part 1.0",)
    assert apt.packages == {"part": "1.0", "whole": "1.0"}


async def test_a_package_that_lacks_what_no_repository_has_is_not_removed(apt):
    apt.offer(Deb("whole", depends="part"), Deb("other"))
    apt.update()
    apt.run("dpkg", "--unpack", *map(str, apt.repository.glob("whole_*.deb")))
    for noop in (True, False):
        ended, story = await converge_once(package("whole"), package("other"), options=RunOptions(noop=noop))
        assert ended.counts[Result.FAILED] == 2
        assert "whole : Depends: part but it is not installable" in story.checks("package#whole")[0].error
    assert "unpacked" in apt.run("dpkg-query", "-W", "-f", "${db:Status-Status}", "whole")


async def test_a_package_that_can_not_be_configured_says_why_each_time(apt):
    apt.offer(Deb("tender", scripts={"postinst": "echo 'no licence was found'; exit 1"}))
    apt.update()
    for _ in range(2):
        _, story = await converge_once(package("tender"))
        assert "no licence was found" in story.checks("package#tender")[0].error


async def test_a_damaged_database_is_an_error_that_says_so(apt):
    (apt.root / "var/lib/dpkg/status").write_text("Package: tiny0\nStatus: insta\n\n")
    _, story = await converge_once(package("tiny0"))
    check = story.checks("package#tiny0")[0]
    assert check.error == "the database of dpkg is damaged: tiny0 has the status 'insta'"
    assert "/var/backups/dpkg.status" in check.hint


async def test_a_package_that_is_broken_does_not_fail_others_later_and_is_reported(apt):
    await converge_once(package("bad"))
    ended, story = await converge_once(package("tiny0"), package("tiny1"))
    assert ended.counts[Result.CHANGED] == 2
    said = [output.line for output in story.all(Output)]
    assert said[0] == "apt-get exited 100, but not because of the requested packages:"
    assert "  dpkg: error processing package bad (--configure):" in said


async def test_a_broken_package_can_be_removed(apt):
    await converge_once(package("bad"))
    ended, _ = await converge_once(package("bad", "absent"))
    assert ended.counts[Result.CHANGED] == 1
    assert "bad" not in apt.run("dpkg-query", "-W")


async def test_a_package_that_is_new_in_the_repository_is_found_by_fetching_the_lists_once(apt):
    apt.offer(Deb("brandnew"))
    os.utime(apt.root / "var/lib/apt/lists", (0, 0))  # as if fetched long ago
    ended, _ = await converge_once(package("brandnew"), package("nosuch"))
    assert ended.counts[Result.CHANGED] == 1
    apt.offer(Deb("brandnew"), Deb("newer"))
    ended, _ = await converge_once(package("newer"))
    assert ended.counts[Result.FAILED] == 1, "lists fetched a moment ago are not fetched again"


async def test_lists_that_had_nothing_new_are_not_fetched_again_by_the_next_process(apt, monkeypatch):
    """Where a server says that nothing has changed, apt changes nothing."""
    started = []

    async def overhear(command, *more):
        started.append(command.arguments)
        done = await run(command, *more)
        if "update" in command.arguments:
            os.utime(apt.root / "var/lib/apt/lists", (0, 0))
        return done

    monkeypatch.setattr("reactor.resources.package.commands.run", overhear)
    os.utime(apt.root / "var/lib/apt/lists", (0, 0))
    for _ in range(2):
        providers.made["apt"] = apt.provider()
        await converge_once(package("nosuch"))
    assert ["update" in arguments for arguments in started].count(True) == 1


async def test_lists_that_come_from_the_future_are_fetched_again(apt):
    """The clock was ahead when they were fetched, and has been set since."""
    apt.offer(Deb("app", "3.0"))
    os.utime(apt.root / "var/lib/apt/lists", (4e9, 4e9))
    ended, _ = await converge_once(package("app", "latest"))
    assert (ended.counts[Result.CHANGED], apt.packages["app"]) == (1, "3.0")


@pytest.mark.parametrize("left", [["partial"], []])
async def test_lists_that_were_tidied_away_are_fetched_however_lately_that_was(apt, left):
    """As in most images of containers."""
    shutil.rmtree(apt.root / "var/lib/apt/lists")
    for name in left:
        (apt.root / "var/lib/apt/lists" / name).mkdir(parents=True)
    ended, _ = await converge_once(package("tiny0"), package("nosuch"))
    assert (ended.counts[Result.CHANGED], ended.counts[Result.FAILED]) == (1, 1)


async def test_lists_may_be_where_apt_is_configured_to_keep_them(apt):
    (apt.root / "var/lib/apt/lists").rename(apt.root / "elsewhere")
    with (apt.root / "apt.conf").open("a") as configuration:
        configuration.write(f'Dir::State::lists "{apt.root}/elsewhere";\n')
    _, story = await converge_once(package("nosuch"))
    assert story.checks("package#nosuch")[0].error == 'no repository has a package "nosuch"'
    assert not (apt.root / "var/lib/apt/lists").exists()


async def test_what_the_repository_has_dropped_for_a_newer_version_is_looked_for_in_fresh_lists(apt):
    apt.install("app=1.0-1")
    for deb in apt.repository.glob("*.deb"):
        deb.unlink()
    apt.offer(Deb("tiny0", "1.1"), Deb("tiny1", "1.1"), Deb("app", "3.0"))
    ten_minutes_ago = time.time() - 600
    os.utime(apt.root / "var/lib/apt/lists", (ten_minutes_ago, ten_minutes_ago))
    ended, story = await converge_once(package("tiny0"), package("tiny1", "1.0"), package("app", "latest"))
    assert (ended.counts[Result.CHANGED], ended.counts[Result.FAILED]) == (2, 1)
    assert apt.packages == {"tiny0": "1.1", "app": "3.0"}
    check = story.checks("package#tiny1")[0]
    assert (check.error, check.hint) == ('no repository has version 1.0 of package "tiny1"', "there is 1.1")


async def test_what_is_known_counts_where_lists_can_not_be_fetched_and_that_is_reported(apt):
    (apt.root / "etc/apt/sources.list.d/down.list").write_text("deb [trusted=yes] copy:/nowhere ./\n")
    os.utime(apt.root / "var/lib/apt/lists", (0, 0))
    ended, story = await converge_once(package("app", "latest"))
    assert ended.counts[Result.CHANGED] == 1
    said = [output.line for output in story.all(Output)]
    assert said[0] == "the package lists could not be refreshed: apt-get update failed"
    assert said[1].startswith("  Err:")


@pytest.mark.parametrize("name", ["nope", "app"])
async def test_what_no_list_has_is_doubted_where_lists_can_not_be_fetched(apt, name):
    (apt.root / "etc/apt/sources.list.d/down.list").write_text("deb [trusted=yes] copy:/nowhere ./\n")
    os.utime(apt.root / "var/lib/apt/lists", (0, 0))
    for noop in (True, False):
        _, story = await converge_once(package(name, "9.0"), options=RunOptions(noop=noop))
        (check,) = story.checks(f"package#{name}")
        assert "no repository has " in check.error
        assert "; but the package lists could not be refreshed: E: " in check.error
        assert "/nowhere" in check.error
        assert check.hint.startswith("see to that first; else ")


async def test_a_dry_run_that_has_no_lists_and_can_get_none_refuses_nothing(apt):
    """As for somebody else than root, in most images of containers."""
    shutil.rmtree(apt.root / "var/lib/apt/lists")
    apt.repository.rename(apt.root / "away")
    ended, _ = await converge_once(package("tiny0"), options=RunOptions(noop=True))
    assert ended.counts[Result.WOULD_CHANGE] == 1


async def test_lists_older_than_the_sources_are_fetched_again(apt):
    providers.made["apt"] = apt.provider()
    apt.offer(Deb("brandnew"))
    later = os.stat(apt.root / "var/lib/apt/lists").st_mtime + 1
    os.utime(apt.root / "etc/apt/sources.list", (later, later))
    ended, _ = await converge_once(package("brandnew"))
    assert ended.counts[Result.CHANGED] == 1


async def test_lists_older_than_a_source_edited_in_place_are_fetched_again(apt):
    source = apt.root / "etc/apt/sources.list.d/more.list"
    source.touch()
    apt.update()
    providers.made["apt"] = apt.provider()
    write_repository(apt.root / "more", Deb("brandnew"))
    with source.open("a") as file:
        file.write(f"deb [trusted=yes] copy:{apt.root}/more ./\n")
    later = os.stat(apt.root / "var/lib/apt/lists").st_mtime + 1
    os.utime(source, (later, later))
    ended, _ = await converge_once(package("brandnew"))
    assert ended.counts[Result.CHANGED] == 1


async def test_latest_looks_for_something_newer_on_its_interval(apt):
    async with running(package("app", "latest", interval="300ms")) as story:
        await story.converged()
        assert apt.packages["app"] == "2.1-1"
        apt.offer(Deb("app", "3.0"))
        await story.until(lambda: len(story.checks("package#app")) > 1 and apt.packages["app"] == "3.0")


async def test_a_transaction_of_another_user_is_waited_for_and_named(apt):
    script = f"touch {apt.root}/begun; while test ! -e {apt.root}/go; do sleep 0.05; done"
    apt.offer(Deb("slow", scripts={"postinst": script}), Deb("tiny0"))
    apt.update()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, apt.apt_get, "install", "slow")
        await eventually((apt.root / "begun").exists)
        async with running(package("slow", "absent"), package("tiny0")) as story:
            await story.until(lambda: any("waiting for apt-get" in line.line for line in story.all(Output)))
            assert not story.checks("package#tiny0")
            (apt.root / "go").touch()
            await story.converged()
    assert apt.packages == {"tiny0": "1.0"}


@contextmanager
def locked(path):
    """Another process holds the lock on ``path``, until its input ends."""
    hold = f"import fcntl; file = open({str(path)!r}, 'w'); fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); input()"
    command = [sys.executable, "-c", hold]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        yield other


async def test_a_dpkg_that_outlives_its_apt_is_waited_for_by_a_dry_run_too(apt):
    """It holds the lock of dpkg, and no longer that of apt: what its database says in between means nothing."""
    lock = apt.root / "var/lib/dpkg/lock"
    with locked(lock) as other:
        async with running(package("tiny0"), options=RunOptions(noop=True)) as story:
            await story.until(lambda: any(f"holds {lock}" in line.line for line in story.all(Output)))
            assert not story.checks("package#tiny0")
            other.stdin.close()
            await story.until(lambda: story.checks("package#tiny0"))


async def test_a_user_who_only_fetches_packages_is_waited_for_and_named(apt):
    """As daily upgrades do: they lock the directory that holds the files, and nothing of dpkg's."""
    apt.install("tiny1")
    lock = apt.root / "var/cache/apt/archives/lock"
    with locked(lock) as other:
        async with running(package("tiny0"), package("tiny1", "absent")) as story:
            await story.until(lambda: any(f"holds {lock}" in line.line for line in story.all(Output)))
            assert apt.packages.keys() == {"tiny1"}
            other.stdin.close()
            await story.converged()
    assert apt.packages == {"tiny0": "1.0"}


async def test_the_program_of_a_transaction_that_is_killed_is_named(apt):
    apt.offer(Deb("fatal", scripts={"preinst": "kill -9 $(ps -o ppid= -p $PPID)"}))
    apt.update()
    _, story = await converge_once(package("fatal"))
    assert story.checks("package#fatal")[0].error.startswith("apt-get: killed by SIGKILL")


class Turns(trio.abc.Instrument):
    """Counts the turns of the event loop."""

    count = 0

    def after_io_wait(self, timeout):
        self.count += 1


@pytest.mark.usefixtures("apt")
async def test_all_packages_of_a_first_look_go_on_together_when_the_database_is_read():
    resources = [package(f"nosuch{number}", "absent") for number in range(300)]
    turns = Turns()
    trio.lowlevel.add_instrument(turns)
    async with trio.open_nursery() as nursery:
        for resource in resources:
            nursery.start_soon(resource.observe)
    trio.lowlevel.remove_instrument(turns)
    assert turns.count < 50
